//! Names the shared object.

fn main() {
    for argument in [
        "-Wl,-soname,libhccl_torch.so",
        // A thread of ours outlives a dlclose.
        "-Wl,-z,nodelete",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
