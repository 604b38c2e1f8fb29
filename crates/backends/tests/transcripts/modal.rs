//! Modal, as its Python client 1.4.3 speaks. Fields of its messages that nobody here reads are left out, as the encoding
//! allows; that those which are there have the vendor's numbers, its published client shows (`modal::sdk`).

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ptyard_modal_wire::Call;
use ptyard_modal_wire::control::{
    AppGetOrCreateRequest, DeploymentNamespace, EnvironmentGetOrCreateRequest, GenericStatus, Image,
    ImageGetOrCreateRequest, NetworkAccess, NetworkAccessType, ObjectCreationType, Resources, Sandbox,
    SandboxCreateRequest, SandboxGetTaskIdRequest, SandboxTerminateRequest,
    TaskGetCommandRouterAccessRequest,
};
use ptyard_modal_wire::router::{
    ExitStatus, FileDescriptor, PtyInfo, PtyType, StderrConfig, StdoutConfig, TaskExecPollRequest,
    TaskExecStartRequest, TaskExecStdinWriteRequest, TaskExecStdioReadRequest, TaskExecStdioReadResponse,
};
use ptyard_testkit::soon;
use ptyard_testkit::vendors::modal::{ModalServer, TOKEN, Wire};
use serde_json::Value;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::metadata::MetadataMap;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// A service, as a client calls it.
struct Rpc {
    channel: Channel,
    /// What every call bears.
    metadata: MetadataMap,
}

impl Rpc {
    async fn to(url: &str, metadata: &[(&'static str, &str)]) -> Self {
        let endpoint = Endpoint::from_shared(url.to_owned()).unwrap();
        let mut all = MetadataMap::new();
        for &(name, value) in metadata {
            all.insert(name, value.parse().unwrap());
        }
        Self { channel: soon("a connection", endpoint.connect()).await.unwrap(), metadata: all }
    }

    fn request<C>(&self, key: &str, call: C) -> Request<C> {
        let mut request = Request::new(call);
        *request.metadata_mut() = self.metadata.clone();
        request.metadata_mut().insert("x-idempotency-key", key.parse().unwrap());
        request
    }

    async fn ready(&self) -> Grpc<Channel> {
        let mut grpc = Grpc::new(self.channel.clone());
        soon("the connection", grpc.ready()).await.unwrap();
        grpc
    }

    async fn try_keyed<C: Call>(&self, key: &str, call: C) -> Result<C::Answer, Status> {
        let (request, path) = (self.request(key, call), PathAndQuery::from_static(C::PATH));
        let answer = self.ready().await.unary(request, path, ProstCodec::<C, C::Answer>::default()).await;
        answer.map(tonic::Response::into_inner)
    }

    async fn keyed<C: Call>(&self, key: &str, call: C) -> C::Answer {
        soon(C::PATH, self.try_keyed(key, call)).await.unwrap()
    }

    /// A call with a key of its own.
    async fn ask<C: Call>(&self, call: C) -> C::Answer {
        self.keyed(C::PATH, call).await
    }

    /// Output from this byte on.
    async fn read(&self, task: &str, exec: &str, fd: FileDescriptor, offset: u64) -> Output {
        let call = TaskExecStdioReadRequest {
            task_id: task.to_owned(),
            exec_id: exec.to_owned(),
            offset,
            file_descriptor: fd.into(),
        };
        let path = PathAndQuery::from_static(TaskExecStdioReadRequest::PATH);
        let codec = ProstCodec::<TaskExecStdioReadRequest, TaskExecStdioReadResponse>::default();
        let stream = self.ready().await.server_streaming(self.request("read", call), path, codec).await;
        Output(stream.unwrap().into_inner())
    }
}

struct Output(Streaming<TaskExecStdioReadResponse>);

impl Output {
    /// Reads until this has come, and nothing else; pieces may be cut anywhere.
    async fn says(&mut self, what: &[u8]) {
        let mut said = Vec::new();
        while said.len() < what.len() {
            let piece = soon("output", self.0.message()).await.unwrap().expect("there is more").data;
            assert!(!piece.is_empty(), "a piece is never empty");
            said.extend(piece);
        }
        assert_eq!(said.escape_ascii().to_string(), what.escape_ascii().to_string());
    }

    async fn ends(&mut self) {
        assert_eq!(soon("the end", self.0.message()).await.unwrap(), None);
    }
}

/// What was recorded of a client that starts a program; `script` runs with `sh -lc`.
fn start(task: &str, exec: &str, script: &str, pty: bool) -> TaskExecStartRequest {
    TaskExecStartRequest {
        task_id: task.to_owned(),
        exec_id: exec.to_owned(),
        command_args: ["sh", "-lc", script].map(str::to_owned).into(),
        stdout_config: StdoutConfig::Pipe.into(),
        stderr_config: StderrConfig::Pipe.into(),
        // It says no size.
        pty_info: pty.then(|| PtyInfo {
            enabled: true,
            env_term: "xterm".to_owned(),
            pty_type: PtyType::Shell.into(),
            no_terminate_on_idle_stdin: true,
            ..PtyInfo::default()
        }),
        env: [("HOME".to_owned(), env!("CARGO_TARGET_TMPDIR").to_owned())].into(),
        ..TaskExecStartRequest::default()
    }
}

fn poll(task: &str, exec: &str) -> TaskExecPollRequest {
    TaskExecPollRequest { task_id: task.to_owned(), exec_id: exec.to_owned() }
}

fn image(commands: &[&str]) -> ImageGetOrCreateRequest {
    ImageGetOrCreateRequest {
        image: Some(Image { dockerfile_commands: commands.iter().map(|&line| line.to_owned()).collect() }),
        app_id: "ap-1".to_owned(),
        namespace: DeploymentNamespace::Workspace.into(),
        builder_version: "2025.06".to_owned(),
    }
}

/// The way to a sandbox: an app, an environment, an image in two steps, the sandbox.
async fn made(api: &Rpc) -> String {
    let app = AppGetOrCreateRequest {
        app_name: "app".to_owned(),
        object_creation_type: ObjectCreationType::CreateIfMissing.into(),
        ..AppGetOrCreateRequest::default()
    };
    let app_id = api.ask(app).await.app_id;
    assert_eq!(app_id, "ap-1");
    let environment = api.ask(EnvironmentGetOrCreateRequest::default()).await;
    let metadata = environment.metadata.unwrap();
    assert_eq!((environment.environment_id.as_str(), metadata.name.as_str()), ("en-1", "main"));
    assert_eq!(metadata.settings.unwrap().image_builder_version, "2025.06");
    let base = api.ask(image(&["FROM python:3.14-slim"])).await;
    let built = api.ask(image(&["FROM base", "CMD [\"sleep\", \"infinity\"]"])).await;
    for image in [&base, &built] {
        assert!(image.image_id.starts_with("im-"), "{image:?}");
        assert_eq!(image.result.as_ref().unwrap().status, i32::from(GenericStatus::Success));
    }
    let definition = Sandbox {
        image_id: built.image_id,
        resources: Some(Resources::default()),
        timeout_secs: 300,
        workdir: Some("/tmp".to_owned()),
        network_access: Some(NetworkAccess { network_access_type: NetworkAccessType::Open.into() }),
        ..Sandbox::default()
    };
    let order =
        SandboxCreateRequest { app_id, definition: Some(definition), ..SandboxCreateRequest::default() };
    let sandbox = api.keyed("ee8be467", order.clone()).await.sandbox_id;
    assert!(sandbox.starts_with("sb-"), "{sandbox}");
    // `x-retry-attempt`: the same key is the same call.
    assert_eq!(api.keyed("ee8be467", order).await.sandbox_id, sandbox);
    sandbox
}

#[tokio::test]
async fn the_server_answers_as_the_vendor_was_recorded() {
    let server = ModalServer::start_with(Wire::Plain).await;
    let api = Rpc::to(
        &server.url(),
        &[
            ("x-retry-attempt", "0"),
            ("x-throttle-retry-attempt", "0"),
            ("x-modal-timestamp", "1795971835.748611"),
            ("x-modal-client-version", "1.4.3"),
            ("x-modal-client-type", "1"),
            ("x-modal-python-version", "3.12.1"),
            ("x-modal-token-id", TOKEN.0),
            ("x-modal-token-secret", TOKEN.1),
        ],
    )
    .await;
    let sandbox = made(&api).await;
    let found = api.ask(SandboxGetTaskIdRequest { sandbox_id: sandbox.clone(), ..Default::default() }).await;
    let task = found.task_id.unwrap();
    assert!(task.starts_with("ta-") && found.task_result.is_none(), "{task}");
    let access = api.ask(TaskGetCommandRouterAccessRequest { task_id: task.clone() }).await;
    let parts: Vec<&str> = access.jwt.split('.').collect();
    let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(parts[1]).unwrap()).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64();
    assert!(parts.len() == 3 && claims["exp"].as_f64().unwrap() > now + 3_000.0, "{claims}");
    assert!(access.url.starts_with("http://127.0.0.1:"), "{}", access.url);
    let router = Rpc::to(&access.url, &[("authorization", &format!("Bearer {}", access.jwt))]).await;

    // Without a tty: output and its end first, then what the program ended with.
    router.ask(start(&task, "c3a98153", "echo out; exit 3", false)).await;
    let mut out = router.read(&task, "c3a98153", FileDescriptor::Stdout, 0).await;
    out.says(b"out\n").await;
    out.ends().await;
    router.read(&task, "c3a98153", FileDescriptor::Stderr, 0).await.ends().await;
    assert_eq!(router.ask(poll(&task, "c3a98153")).await.exit_status, Some(ExitStatus::Code(3)));

    // On a tty: what is typed stands at its offset, and is typed once.
    let script =
        "printf '$ '; IFS= read -r sum; IFS= read -r exit; test \"$sum $exit\" = '1+1 exit' && exit 7";
    router.ask(start(&task, "b82fbe34", script, true)).await;
    let mut out = router.read(&task, "b82fbe34", FileDescriptor::Stdout, 0).await;
    out.says(b"$ ").await;
    for _ in 0..2 {
        assert_eq!(router.ask(poll(&task, "b82fbe34")).await.exit_status, None, "it runs");
    }
    let typed = |offset, data: &str| TaskExecStdinWriteRequest {
        task_id: task.clone(),
        exec_id: "b82fbe34".to_owned(),
        offset,
        data: data.as_bytes().to_vec(),
        eof: false,
    };
    router.ask(typed(0, "1+1\n")).await;
    out.says(b"1+1\r\n").await;
    router.ask(typed(0, "1+1\n")).await;
    router.ask(typed(4, "exit\n")).await;
    out.says(b"exit\r\n").await;
    out.ends().await;
    assert_eq!(router.ask(poll(&task, "b82fbe34")).await.exit_status, Some(ExitStatus::Code(7)));
    // All of it is there again, from any byte on.
    let mut again = router.read(&task, "b82fbe34", FileDescriptor::Stdout, 2).await;
    again.says(b"1+1\r\nexit\r\n").await;
    again.ends().await;

    // What still runs goes with the sandbox.
    router.ask(start(&task, "c0ddac23", "printf '$ '; cat", true)).await;
    let mut out = router.read(&task, "c0ddac23", FileDescriptor::Stdout, 0).await;
    out.says(b"$ ").await;
    let ended = api.ask(SandboxTerminateRequest { sandbox_id: sandbox }).await;
    assert_eq!(ended.existing_result, None);
    let gone = soon("a refusal", router.try_keyed("poll", poll(&task, "c0ddac23"))).await.unwrap_err();
    assert_eq!((gone.code(), server.living()), (Code::NotFound, 0));
}
