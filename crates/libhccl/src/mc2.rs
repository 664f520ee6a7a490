//! Arguments of operators that compute and communicate in one kernel. Programs fill them; there is
//! no such kernel under a software NPU, so nothing can be made of them.

use std::ffi::{c_char, c_int, c_void};
use std::sync::Arc;

use hccl::{DataType, ReduceOp};
use hccl_abi::{Table, c_text};
use parking_lot::Mutex;

use crate::border::{hccl_call, present};
use crate::communicators::{check_process, comm};
use crate::errors::Failure;

/// What a program said, as far as it did.
#[derive(Debug, Default)]
struct Arguments {
    source_type: Option<DataType>,
    target_type: Option<DataType>,
    reduce_op: Option<ReduceOp>,
    count: Option<u64>,
    algorithm: Option<String>,
    engine: Option<u8>,
}

static ARGUMENTS: Table<Mutex<Arguments>> = Table::new(0x25);

/// Longest text of an algorithm.
const ALGORITHM_MAX: usize = 127;
/// The last of `CommEngine`.
const ENGINE_MAX: u8 = 5;
/// The last operator of `HcclCMDType`.
const OPERATOR_MAX: u8 = 21;

fn find(call: &str, handle: *mut c_void) -> Result<Arc<Mutex<Arguments>>, Failure> {
    check_process()?;
    present(call, "opArgs", handle)?;
    ARGUMENTS.get(handle).ok_or_else(|| unknown(call, handle))
}

fn unknown(call: &str, handle: *mut c_void) -> Failure {
    let expect = "what HcclKfcAllocOpArgs made, not freed";
    Failure::argument(call, "opArgs", &format!("{handle:p}"), expect)
}

fn data_type(call: &str, code: u8) -> Result<DataType, Failure> {
    DataType::from_code(c_int::from(code)).ok_or_else(|| {
        Failure::argument(call, "dataType", &code.to_string(), "a number of HcclDataType")
    })
}

hccl_call! {
    /// Makes arguments that say nothing.
    fn HcclKfcAllocOpArgs(out: *mut *mut c_void) {
        const CALL: &str = "HcclKfcAllocOpArgs";
        check_process()?;
        present(CALL, "opArgs", out)?;
        let made = ARGUMENTS.insert(Arc::default()).ok_or_else(|| {
            Failure::argument(CALL, "opArgs", "one more", "at most 16777216 of them")
        })?;
        // SAFETY: not NULL; writable by the contract of this function.
        unsafe { out.write(made) };
        Ok(())
    }
}

hccl_call! {
    /// Gives arguments up.
    fn HcclKfcFreeOpArgs(handle: *mut c_void) {
        const CALL: &str = "HcclKfcFreeOpArgs";
        find(CALL, handle)?;
        ARGUMENTS.remove(handle).map(drop).ok_or_else(|| unknown(CALL, handle))
    }
}

hccl_call! {
    /// Type of what goes in.
    fn HcclKfcOpArgsSetSrcDataType(handle: *mut c_void, code: u8) {
        const CALL: &str = "HcclKfcOpArgsSetSrcDataType";
        find(CALL, handle)?.lock().source_type = Some(data_type(CALL, code)?);
        Ok(())
    }
}

hccl_call! {
    /// Type of what comes out.
    fn HcclKfcOpArgsSetDstDataType(handle: *mut c_void, code: u8) {
        const CALL: &str = "HcclKfcOpArgsSetDstDataType";
        find(CALL, handle)?.lock().target_type = Some(data_type(CALL, code)?);
        Ok(())
    }
}

hccl_call! {
    /// The reduction.
    fn HcclKfcOpArgsSetReduceType(handle: *mut c_void, code: u32) {
        const CALL: &str = "HcclKfcOpArgsSetReduceType";
        let arguments = find(CALL, handle)?;
        let op = c_int::try_from(code).ok().and_then(ReduceOp::from_code).ok_or_else(|| {
            let expect = "sum (0), prod (1), max (2) or min (3)";
            Failure::argument(CALL, "reduceType", &code.to_string(), expect)
        })?;
        arguments.lock().reduce_op = Some(op);
        Ok(())
    }
}

hccl_call! {
    /// Elements.
    fn HcclKfcOpArgsSetCount(handle: *mut c_void, count: u64) {
        const CALL: &str = "HcclKfcOpArgsSetCount";
        let arguments = find(CALL, handle)?;
        crate::operators::check_count(CALL, "count", count)?;
        arguments.lock().count = Some(count);
        Ok(())
    }
}

hccl_call! {
    /// The algorithm, in the words of the kernel.
    fn HcclKfcOpArgsSetAlgConfig(handle: *mut c_void, text: *const c_char) {
        const CALL: &str = "HcclKfcOpArgsSetAlgConfig";
        let arguments = find(CALL, handle)?;
        present(CALL, "algConfig", text)?;
        // SAFETY: not NULL; a C string by the contract of this function.
        let text = unsafe { c_text(text) }.unwrap_or_default();
        if text.len() > ALGORITHM_MAX {
            let expect = format!("at most {ALGORITHM_MAX} characters");
            return Err(Failure::argument(CALL, "algConfig", &text, &expect));
        }
        arguments.lock().algorithm = Some(text);
        Ok(())
    }
}

hccl_call! {
    /// Who communicates.
    fn HcclKfcOpArgsSetCommEngine(handle: *mut c_void, engine: u8) {
        const CALL: &str = "HcclKfcOpArgsSetCommEngine";
        let arguments = find(CALL, handle)?;
        if engine > ENGINE_MAX {
            let expect = "COMM_ENGINE_CPU (0) to COMM_ENGINE_CCU (5)";
            return Err(Failure::argument(CALL, "commEngine", &engine.to_string(), expect));
        }
        arguments.lock().engine = Some(engine);
        Ok(())
    }
}

/// Would make what a kernel needs to communicate.
fn create(
    call: &'static str,
    comm_handle: *mut c_void,
    operator: u8,
    handle: *mut c_void,
    out: *mut *mut c_void,
) -> Result<(), Failure> {
    comm(call, comm_handle)?;
    let arguments = find(call, handle)?;
    present(call, "opResCtx", out)?;
    if operator == 0 || operator > OPERATOR_MAX {
        let expect = format!("[1, {OPERATOR_MAX}], a number of HcclCMDType");
        return Err(Failure::argument(call, "opType", &operator.to_string(), &expect));
    }
    let why = format!(
        "a software NPU runs no kernels that communicate (operator {operator}, {:?})",
        *arguments.lock()
    );
    Err(Failure::absent(call, &why))
}

hccl_call! {
    /// Would make what a kernel needs to communicate.
    fn HcclCreateOpResCtx(
        comm: *mut c_void,
        operator: u8,
        arguments: *mut c_void,
        out: *mut *mut c_void,
    ) {
        create("HcclCreateOpResCtx", comm, operator, arguments, out)
    }
}

hccl_call! {
    /// [`HcclCreateOpResCtx`] under another name.
    fn HcclCreateOpResCtxInner(
        comm: *mut c_void,
        operator: u8,
        arguments: *mut c_void,
        out: *mut *mut c_void,
    ) {
        create("HcclCreateOpResCtxInner", comm, operator, arguments, out)
    }
}
