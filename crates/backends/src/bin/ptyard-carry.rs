//! The carrier by itself, for tests of the ssh backend.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ptyard_backends::ssh::carry(&arguments).into()
}
