//! Names the shared object.

fn main() {
    for argument in [
        "-Wl,-soname,libhccl.so",
        // Threads and thread-local destructors of ours outlive a dlclose.
        "-Wl,-z,nodelete",
        "-Wl,-rpath,$ORIGIN",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
