//! The `schedscope` program: parses arguments, calls the library, maps errors to exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    match schedscope::cli::run() {
        Ok(code) => code,
        Err(error) => {
            schedscope::cli::tell(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}
