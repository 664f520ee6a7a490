//! Names the shared object, and compiles the variadic function that stable Rust cannot define.

fn main() {
    println!("cargo::rerun-if-changed=src/tuner/log.c");
    cc::Build::new().file("src/tuner/log.c").flag_if_supported("-std=c11").compile("tuner_log");
    for argument in [
        "-Wl,-soname,libhccl.so",
        // Threads and thread-local destructors of ours outlive a dlclose.
        "-Wl,-z,nodelete",
        "-Wl,-rpath,$ORIGIN",
    ] {
        println!("cargo::rustc-cdylib-link-arg={argument}");
    }
}
