//! Where keys may go.

/// Whether what is sent to this address stays on this machine.
pub(crate) fn is_here(url: &str) -> bool {
    ["http://127.0.0.1", "http://localhost", "http://[::1]"].iter().any(|here| {
        url.strip_prefix(here).is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '/']))
    })
}

/// Keys go over TLS, or stay on this machine.
pub(crate) fn check(url: &str) -> Result<(), String> {
    if url.starts_with("https://") || is_here(url) {
        return Ok(());
    }
    Err(format!("{url} is not https, so no key is sent there"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_leave_this_machine_over_tls_only() {
        for good in ["https://api.example", "http://127.0.0.1:80", "http://localhost/x", "http://[::1]"] {
            assert_eq!(check(good), Ok(()), "{good}");
        }
        for bad in ["http://api.example", "http://127.0.0.1.example.com", "ftp://x", ""] {
            assert!(check(bad).is_err(), "{bad}");
        }
    }
}
