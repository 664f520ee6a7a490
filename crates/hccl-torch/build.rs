//! Names the shared object.

fn main() {
    for argument in [
        "-Wl,-soname,libhccl_torch.so",
        // A thread of ours outlives a dlclose.
        "-Wl,-z,nodelete",
        // Every library of an installation looks for others beside itself.
        "-Wl,-rpath,$ORIGIN",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
