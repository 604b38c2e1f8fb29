//! The carrier by itself, for tests of the backends that need it.

fn main() -> std::process::ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    ptyard_backends::carry(&arguments).into()
}
