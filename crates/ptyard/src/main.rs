//! The `ptyard` program; all of it is in the library beside this file.

fn main() -> std::process::ExitCode {
    ptyard::main()
}
