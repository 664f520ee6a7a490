//! The rarer facts of a tensor's description: other shapes, bounds, constants.

use std::ffi::{CString, c_int, c_void};
use std::sync::Arc;

use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, Text, acl, call};
use crate::tensor::{dims, tensor};

acl! {
    /// As `aclSetTensorFormat`, under its older name.
    fn aclSetTensorStorageFormat(desc: *mut c_void, format: c_int) {
        tensor(desc)?.lock().storage_format = format;
        Ok(())
    }
}

acl! {
    /// As `aclSetTensorShape`, under its older name.
    fn aclSetTensorStorageShape(desc: *mut c_void, count: c_int, shape: In<i64>) {
        let shape = dims(count, shape)?;
        tensor(desc)?.lock().storage_shape = shape;
        Ok(())
    }
}

acl! {
    /// Sets the format that the tensor had at first.
    fn aclSetTensorOriginFormat(desc: *mut c_void, format: c_int) {
        tensor(desc)?.lock().origin_format = format;
        Ok(())
    }
}

acl! {
    /// Sets the shape that the tensor had at first.
    fn aclSetTensorOriginShape(desc: *mut c_void, count: c_int, shape: In<i64>) {
        let shape = dims(count, shape)?;
        tensor(desc)?.lock().origin_shape = shape;
        Ok(())
    }
}

fn ranges(count: usize, list: In<[i64; 2]>, name: &str) -> NpuResult<Vec<[i64; 2]>> {
    if list.is_null() && count > 0 {
        return Err(NpuError::null(name));
    }
    let list = list.list(count)?;
    // -1 stands for no upper bound.
    if let Some([low, high]) = list.iter().find(|[low, high]| *high != -1 && low > high) {
        let given = format!("{low} to {high}");
        return Err(NpuError::argument(name, given, "a lower and an upper bound (-1 for none)"));
    }
    Ok(list)
}

acl! {
    /// Sets bounds of the dimensions.
    fn aclSetTensorShapeRange(desc: *mut c_void, count: usize, list: In<[i64; 2]>) {
        let ranges = ranges(count, list, "dimsRange")?;
        tensor(desc)?.lock().shape_range = ranges;
        Ok(())
    }
}

acl! {
    /// Sets bounds of the values.
    fn aclSetTensorValueRange(desc: *mut c_void, count: usize, list: In<[i64; 2]>) {
        let ranges = ranges(count, list, "valueRange")?;
        tensor(desc)?.lock().value_range = ranges;
        Ok(())
    }
}

acl! {
    /// Bounds of one dimension: what was set, else the dimension itself.
    fn aclGetTensorDescDimRange(desc: *const c_void, index: usize, count: usize, out: Out<[i64; 2]>) {
        out.check("dimRange")?;
        if count < 2 {
            return Err(NpuError::argument("dimRangeNum", count, "2 or more"));
        }
        let tensor = tensor(desc)?;
        let tensor = tensor.lock();
        let dim = tensor.shape.get(index).copied().ok_or_else(|| {
            let allowed = format!("less than the number of dimensions, {}", tensor.shape.len());
            NpuError::argument("index", index, &allowed)
        })?;
        let known = tensor.shape_range.get(index).copied();
        out.put("dimRange", known.unwrap_or([dim, dim]))
    }
}

acl! {
    /// Says that the tensor is a constant, which is copied.
    fn aclSetTensorConst(desc: *mut c_void, data: In<u8>, length: usize) {
        if data.is_null() && length > 0 {
            return Err(NpuError::null("dataBuffer"));
        }
        if length == 0 {
            return Err(NpuError::argument("length", 0, "greater than 0"));
        }
        let found = tensor(desc)?;
        found.lock().constant = Some(Arc::from(data.list(length)?));
        Ok(())
    }
}

/// Where the constant is that a tensor is; NULL for none. Valid as long as the description and the
/// constant.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn aclGetTensorDescAddress(desc: *const c_void) -> *mut c_void {
    let mut address = std::ptr::null_mut();
    call("aclGetTensorDescAddress", || {
        let tensor = tensor(desc)?;
        if let Some(constant) = &tensor.lock().constant {
            address = constant.as_ptr().cast_mut().cast();
        }
        Ok(())
    });
    address
}

acl! {
    /// Says which dynamic input the tensor belongs to.
    fn aclSetTensorDynamicInput(desc: *mut c_void, name: Text) {
        let name = name.get().ok_or_else(|| NpuError::null("dynamicInputName"))?;
        tensor(desc)?.lock().dynamic_input = CString::new(name).expect("a C string has no NUL inside");
        Ok(())
    }
}

/// One description of an array of them: arrays do not exist, so the first is the description.
// SAFETY: as above.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn aclGetTensorDescByIndex(desc: *mut c_void, index: usize) -> *mut c_void {
    let mut found = std::ptr::null_mut();
    call("aclGetTensorDescByIndex", || {
        tensor(desc)?;
        if index != 0 {
            return Err(NpuError::argument("index", index, "0"));
        }
        found = desc;
        Ok(())
    });
    found
}

acl! {
    /// Would compute the description in another format.
    fn aclTransTensorDescFormat(desc: *const c_void, format: c_int, out: Out<*mut c_void>) {
        out.check("dstDesc")?;
        let tensor = tensor(desc)?;
        let from = tensor.lock().format;
        Err(NpuError::unsupported(format!("tensors of format {from} as such of format {format}")))
    }
}
