//! The `schedscope` program: parses arguments, calls the library, maps errors to exit codes.

use std::process::ExitCode;

fn main() -> ExitCode {
    match schedscope::cli::run() {
        Ok(code) => code,
        Err(error) => {
            report(&error);
            ExitCode::from(2)
        }
    }
}

#[expect(clippy::print_stderr, reason = "the program's last words")]
fn report(error: &anyhow::Error) {
    eprintln!("schedscope: {error:#}");
}
