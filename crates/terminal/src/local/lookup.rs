//! Which files a program's name may mean.

use std::collections::BTreeMap;
use std::ffi::CString;

use crate::backend::{StartError, StartSpec};

use super::errors;

/// Where programs are looked for when the environment has no PATH.
pub(super) const DEFAULT_PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A program's spec as the C strings that the exec wants.
#[derive(Debug)]
pub(super) struct ExecStrings {
    pub(super) candidates: Vec<CString>,
    pub(super) argv: Vec<CString>,
    pub(super) env: Vec<CString>,
    pub(super) cwd: CString,
}

impl ExecStrings {
    /// Refuses what no exec could take: an empty argv, NUL characters, an impossible variable name, a relative cwd.
    pub(super) fn new(spec: &StartSpec) -> Result<Self, StartError> {
        let Some(program) = spec.argv.first() else {
            return Err(errors::invalid("the argument list is empty"));
        };
        if !spec.cwd.is_absolute() {
            return Err(errors::invalid(format!("the working directory {:?} is not absolute", spec.cwd)));
        }
        Ok(Self {
            candidates: candidates(program, &spec.env)
                .into_iter()
                .map(|path| c_string("the program's name", path))
                .collect::<Result<_, _>>()?,
            argv: spec
                .argv
                .iter()
                .enumerate()
                .map(|(at, arg)| c_string(format_args!("argument {at}"), arg.as_bytes()))
                .collect::<Result<_, _>>()?,
            env: spec.env.iter().map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?,
            cwd: c_string("the working directory", spec.cwd.as_os_str().as_encoded_bytes())?,
        })
    }
}

/// The files to try: the name itself if it holds a slash, else one in each directory of the program's own PATH, where
/// an empty entry means the working directory.
fn candidates(program: &str, env: &BTreeMap<String, String>) -> Vec<String> {
    if program.is_empty() || program.contains('/') {
        return vec![program.to_owned()];
    }
    let path = env.get("PATH").map_or(DEFAULT_PATH, String::as_str);
    path.split(':')
        .map(|dir| if dir.is_empty() { format!("./{program}") } else { format!("{dir}/{program}") })
        .collect()
}

fn variable(name: &str, value: &str) -> Result<CString, StartError> {
    if name.is_empty() || name.contains('=') {
        return Err(errors::invalid(format!("{name:?} cannot be the name of an environment variable")));
    }
    c_string(format_args!("the environment variable {name}"), format!("{name}={value}"))
}

fn c_string(what: impl std::fmt::Display, bytes: impl Into<Vec<u8>>) -> Result<CString, StartError> {
    CString::new(bytes).map_err(|_| errors::invalid(format!("{what} holds a NUL character")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_path(path: &str) -> BTreeMap<String, String> {
        BTreeMap::from([("PATH".to_owned(), path.to_owned())])
    }

    #[test]
    fn a_name_is_looked_for_in_the_programs_own_path() {
        assert_eq!(candidates("ls", &with_path("/a:/b")), ["/a/ls", "/b/ls"]);
        assert_eq!(candidates("ls", &with_path("/a::/b")), ["/a/ls", "./ls", "/b/ls"]);
        assert_eq!(candidates("ls", &with_path("")), ["./ls"]);
        assert_eq!(candidates("ls", &BTreeMap::new())[0], "/usr/local/sbin/ls");
    }

    #[test]
    fn a_path_is_taken_as_it_is() {
        assert_eq!(candidates("./ls", &with_path("/a")), ["./ls"]);
        assert_eq!(candidates("/bin/ls", &with_path("/a")), ["/bin/ls"]);
        assert_eq!(candidates("", &with_path("/a")), [""]);
    }
}
