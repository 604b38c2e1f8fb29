//! The CLIs: how each is told to ask our model and nobody else.

use std::path::Path;

use serde_json::json;

/// A CLI.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cli {
    /// Its name in `.ci/install-agents`.
    pub(crate) package: &'static str,
    /// Its provider.
    pub(crate) provider: &'static str,
    /// Its name for `ptyard mcp install`.
    pub(crate) client: &'static str,
    /// The program with the arguments that have it work on one prompt and end, and ask nobody.
    pub(crate) once: &'static [&'static str],
    /// Variables, beside a home of its own.
    pub(crate) env: &'static [(&'static str, &'static str)],
    /// Writes its settings into `home`, with the model at `url`.
    pub(crate) settle: fn(home: &Path, url: &str),
    /// The variable with the address of the model, where that is how it is told.
    pub(crate) url_variable: Option<&'static str>,
    /// What it asks when it is started for the first time, in this order: the rule that sees it, and the keys that lead on.
    pub(crate) asks: &'static [(&'static str, &'static str)],
    /// The keys that let a command run once.
    pub(crate) approve: &'static str,
    /// The keys that stop a turn.
    pub(crate) interrupt: &'static [&'static str],
    /// What its screen shows once an answer has begun, where a prompt that is interrupted before that comes back to the
    /// composer.
    pub(crate) said: Option<&'static str>,
    /// The line that ends it.
    pub(crate) exit: &'static str,
}

pub(crate) const CODEX: &Cli = &Cli {
    package: "codex",
    provider: "codex",
    client: "codex",
    once: &["codex", "exec", "--dangerously-bypass-approvals-and-sandbox"],
    env: &[("MODEL_KEY", "none")],
    settle: settle_codex,
    url_variable: None,
    asks: &[("trust", "Enter")],
    approve: "y",
    interrupt: &["Escape"],
    said: None,
    exit: "/quit",
};

pub(crate) const OPENCODE: &Cli = &Cli {
    package: "opencode",
    provider: "opencode_cli",
    client: "opencode",
    once: &["opencode", "run"],
    env: &[
        ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1"),
        ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1"),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1"),
        ("OPENCODE_DISABLE_SHARE", "1"),
    ],
    settle: settle_opencode,
    url_variable: None,
    asks: &[],
    approve: "Enter",
    interrupt: &["Escape", "Escape"],
    said: None,
    exit: "/exit",
};

pub(crate) const CLAUDE: &Cli = &Cli {
    package: "claude",
    provider: "claude_code",
    client: "claude-code",
    once: &["claude", "--allowedTools", "mcp__ptyard", "--print"],
    env: &[
        ("ANTHROPIC_API_KEY", "sk-ant-none-0000000000000000000000"),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"),
        ("DISABLE_AUTOUPDATER", "1"),
        ("DISABLE_ERROR_REPORTING", "1"),
        ("DISABLE_INSTALLATION_CHECKS", "1"),
        ("DISABLE_TELEMETRY", "1"),
        ("DISABLE_UPDATES", "1"),
    ],
    settle: settle_claude,
    url_variable: Some("ANTHROPIC_BASE_URL"),
    asks: &[("trust", "Down Enter"), ("auto_mode", "Down Enter")],
    approve: "1",
    interrupt: &["Escape"],
    said: Some("●"),
    exit: "/exit",
};

pub(crate) const QWEN: &Cli = &Cli {
    package: "qwen",
    provider: "qwen_code",
    client: "qwen",
    once: &["qwen", "--yolo", "--prompt"],
    env: &[("OPENAI_API_KEY", "none"), ("OPENAI_MODEL", "model"), ("QWEN_TELEMETRY_ENABLED", "false")],
    settle: settle_qwen,
    url_variable: Some("OPENAI_BASE_URL"),
    asks: &[],
    approve: "Enter",
    interrupt: &["Escape"],
    said: Some("◆"),
    exit: "/quit",
};

pub(crate) const GEMINI: &Cli = &Cli {
    package: "gemini",
    provider: "gemini_cli",
    client: "gemini",
    once: &["gemini", "--yolo", "--prompt"],
    env: &[
        ("GEMINI_API_KEY", "none"),
        ("GEMINI_TELEMETRY_ENABLED", "false"),
        // It runs no hook in the session in which it is told that the folder is trusted.
        ("GEMINI_CLI_TRUST_WORKSPACE", "true"),
    ],
    settle: settle_gemini,
    url_variable: Some("GOOGLE_GEMINI_BASE_URL"),
    asks: &[],
    approve: "Enter",
    interrupt: &["Escape"],
    said: None,
    exit: "/quit",
};

pub(crate) const COPILOT: &Cli = &Cli {
    package: "copilot",
    provider: "copilot_cli",
    client: "copilot",
    once: &["copilot", "--allow-all", "--prompt"],
    env: &[
        ("COPILOT_OFFLINE", "true"),
        ("COPILOT_AUTO_UPDATE", "false"),
        ("COPILOT_PROVIDER_API_KEY", "none"),
        ("COPILOT_MODEL", "model"),
        ("COPILOT_PROVIDER_MAX_PROMPT_TOKENS", "100000"),
        ("COPILOT_PROVIDER_MAX_OUTPUT_TOKENS", "8000"),
    ],
    settle: |_, _| {},
    url_variable: Some("COPILOT_PROVIDER_BASE_URL"),
    asks: &[("question", "2")],
    approve: "1",
    interrupt: &["Escape", "Escape"],
    said: Some("●"),
    exit: "/exit",
};

pub(crate) const KIMI: &Cli = &Cli {
    package: "kimi",
    provider: "kimi_cli",
    client: "kimi",
    once: &["kimi", "--yolo", "--prompt"],
    env: &[
        ("KIMI_DISABLE_TELEMETRY", "1"),
        ("KIMI_CODE_NO_AUTO_UPDATE", "1"),
        ("KIMI_DISABLE_CRON", "1"),
        ("KIMI_CODE_MODEL_CATALOG_REFRESH_ON_START", "0"),
    ],
    settle: settle_kimi,
    url_variable: None,
    asks: &[("dialog", "Enter")],
    approve: "1",
    interrupt: &["Escape"],
    said: None,
    exit: "/exit",
};

fn write(path: &Path, text: &str) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn settle_codex(home: &Path, url: &str) {
    let settings = format!(
        r#"model = "gpt-5.4"
model_provider = "loopback"
approval_policy = "on-request"
sandbox_mode = "read-only"
[model_providers.loopback]
name = "loopback"
base_url = "{url}/v1"
env_key = "MODEL_KEY"
wire_api = "responses"
request_max_retries = 0
[analytics]
enabled = false
[feedback]
enabled = false
"#
    );
    write(&home.join(".codex/config.toml"), &settings);
}

fn settle_opencode(home: &Path, url: &str) {
    let model = json!({"name": "Loopback", "limit": {"context": 128_000, "output": 8_192}});
    let settings = json!({
        "autoupdate": false, "share": "disabled", "lsp": false, "snapshot": false, "enabled_providers": ["loopback"],
        "model": "loopback/model", "small_model": "loopback/model",
        "provider": {"loopback": {
            "npm": "@ai-sdk/openai-compatible", "name": "Loopback",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "none"},
            "models": {"model": model},
        }},
        "permission": {"bash": "ask", "edit": "ask"},
    });
    write(&home.join(".config/opencode/opencode.json"), &settings.to_string());
}

fn settle_claude(home: &Path, _url: &str) {
    let state = json!({
        "hasCompletedOnboarding": true, "theme": "dark", "autoUpdates": false,
        "customApiKeyResponses": {"approved": ["00000000000000000000"], "rejected": []},
    });
    write(&home.join(".claude.json"), &state.to_string());
    write(&home.join(".claude/settings.json"), r#"{"permissions": {"defaultMode": "default"}}"#);
}

fn settle_qwen(home: &Path, _url: &str) {
    let settings = json!({
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true, "disableUpdateNag": true},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "openai"}}, "model": {"name": "model"},
        "tools": {"useRipgrep": false, "approvalMode": "default"},
        // It asks the model for these by itself, with tools: they look like prompts.
        "memory": {"enableManagedAutoMemory": false, "enableManagedAutoDream": false},
        "ui": {"enableFollowupSuggestions": false},
    });
    write(&home.join(".qwen/settings.json"), &settings.to_string());
}

fn settle_gemini(home: &Path, _url: &str) {
    let settings = json!({
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}, "telemetry": {"enabled": false},
        "security": {"auth": {"selectedType": "gemini-api-key"}}, "model": {"name": "gemini-2.5-pro"},
        "tools": {"useRipgrep": false},
    });
    write(&home.join(".gemini/settings.json"), &settings.to_string());
}

fn settle_kimi(home: &Path, url: &str) {
    let settings = format!(
        r#"default_model = "loopback/model"
default_permission_mode = "manual"
telemetry = false
[providers.loopback]
type = "openai"
base_url = "{url}/v1"
api_key = "none"
[models."loopback/model"]
provider = "loopback"
model = "model"
max_context_size = 128000
capabilities = ["tool_use"]
display_name = "Loopback"
"#
    );
    write(&home.join(".kimi-code/config.toml"), &settings);
}
