//! The `schedscope` program: the library with kube-scheduler's plugins and no other.

use std::process::ExitCode;

#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    schedscope::cli::Main::new().run()
}
