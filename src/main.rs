//! The `schedscope` program: parses arguments, calls the library, maps errors to exit codes.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    match schedscope::cli::run() {
        Ok(code) => code,
        Err(error) => {
            schedscope::cli::tell(&format!("{error:#}"));
            ExitCode::from(2)
        }
    }
}
