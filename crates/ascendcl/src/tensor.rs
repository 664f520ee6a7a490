//! Descriptions of tensors, buffers and attributes, as operators take them. They only hold what
//! they are told; nothing here touches device memory.

use std::ffi::{CString, c_char, c_int, c_void};
use std::sync::Arc;

use hccl_abi::Table;
use parking_lot::Mutex;
use softnpu::{NpuError, NpuResult};

use crate::border::{In, Out, Text, acl, call, handle};

/// What a tensor descriptor holds.
#[derive(Clone, Debug)]
pub(crate) struct Tensor {
    pub(crate) data_type: c_int,
    pub(crate) format: c_int,
    pub(crate) shape: Vec<i64>,
    pub(crate) storage_format: c_int,
    pub(crate) storage_shape: Vec<i64>,
    pub(crate) origin_format: c_int,
    pub(crate) origin_shape: Vec<i64>,
    pub(crate) placement: c_int,
    pub(crate) name: CString,
    /// Name of the dynamic input that it belongs to.
    pub(crate) dynamic_input: CString,
    /// Bounds of each dimension, where they were told.
    pub(crate) shape_range: Vec<[i64; 2]>,
    /// Bounds of values, where they were told.
    pub(crate) value_range: Vec<[i64; 2]>,
    /// The constant that it is, where it was told: a copy.
    pub(crate) constant: Option<Arc<[u8]>>,
}

static TENSORS: Table<Mutex<Tensor>> = Table::new(0x15);
static BUFFERS: Table<Mutex<Buffer>> = Table::new(0x16);
static ATTRIBUTES: Table<Mutex<Vec<(String, Attribute)>>> = Table::new(0x17);

/// An address and a size, as the caller gave them.
struct Buffer {
    address: usize,
    size: usize,
}

/// Value of an operator's attribute.
#[derive(Clone, Debug, PartialEq)]
enum Attribute {
    Bool(bool),
    Int(i64),
    Float(f32),
    Text(String),
    DataType(c_int),
    Bools(Vec<u8>),
    Ints(Vec<i64>),
    Floats(Vec<f32>),
    IntLists(Vec<Vec<i64>>),
    Texts(Vec<String>),
    DataTypes(Vec<c_int>),
}

/// A tensor that an operator takes: what a descriptor and a buffer say together.
#[derive(Clone, Debug)]
pub(crate) struct Operand {
    pub(crate) data_type: c_int,
    pub(crate) shape: Vec<i64>,
    pub(crate) on_host: bool,
    pub(crate) address: usize,
    pub(crate) bytes: usize,
}

impl Operand {
    /// Reads a descriptor and its buffer.
    pub(crate) fn new(desc: *const c_void, buffer: *const c_void) -> NpuResult<Self> {
        let tensor = tensor(desc)?;
        let tensor = tensor.lock();
        let buffer = BUFFERS.get(buffer).ok_or_else(|| NpuError::handle("data buffer", buffer))?;
        let buffer = buffer.lock();
        Ok(Self {
            data_type: tensor.data_type,
            shape: tensor.shape.clone(),
            on_host: tensor.placement != 0,
            address: buffer.address,
            bytes: buffer.size,
        })
    }

    /// Bytes of an element.
    pub(crate) fn element(&self) -> usize {
        crate::version::aclDataTypeSize(self.data_type)
    }

    /// Elements by the shape; `None` where they are not known or do not fit the buffer.
    pub(crate) fn elements(&self) -> Option<usize> {
        let count = self
            .shape
            .iter()
            .try_fold(1usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?))?;
        (count.checked_mul(self.element())? <= self.bytes).then_some(count)
    }
}

/// A text attribute of a set.
pub(crate) fn text_attribute(attributes: *const c_void, name: &str) -> Option<String> {
    let set = ATTRIBUTES.get(attributes)?;
    let set = set.lock();
    set.iter().find(|(other, _)| other == name).and_then(|(_, value)| match value {
        Attribute::Text(text) => Some(text.clone()),
        _ => None,
    })
}

pub(crate) fn tensor(given: *const c_void) -> NpuResult<Arc<Mutex<Tensor>>> {
    if given.is_null() {
        return Err(NpuError::null("desc"));
    }
    TENSORS.get(given).ok_or_else(|| NpuError::handle("tensor descriptor", given))
}

/// A handle, or NULL with a message for the caller.
fn or_null(name: &'static str, make: impl FnOnce() -> NpuResult<*mut c_void>) -> *mut c_void {
    let mut made = std::ptr::null_mut();
    call(name, || {
        made = make()?;
        Ok(())
    });
    made
}

pub(crate) fn dims(count: c_int, list: In<i64>) -> NpuResult<Vec<i64>> {
    let count =
        usize::try_from(count).map_err(|_| NpuError::argument("numDims", count, "0 or more"))?;
    let list = list.list(count)?;
    if list.len() != count {
        return Err(NpuError::null("dims"));
    }
    Ok(list)
}

/// Makes a tensor descriptor.
///
/// # Safety
/// 1. `shape` is NULL or readable for `count` numbers.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub unsafe extern "C" fn aclCreateTensorDesc(
    data_type: c_int,
    count: c_int,
    shape: In<i64>,
    format: c_int,
) -> *mut c_void {
    or_null("aclCreateTensorDesc", || {
        let shape = dims(count, shape)?;
        let made = Tensor {
            data_type,
            format,
            storage_shape: shape.clone(),
            origin_shape: shape.clone(),
            shape,
            storage_format: format,
            origin_format: format,
            placement: 0,
            name: CString::default(),
            dynamic_input: CString::default(),
            shape_range: Vec::new(),
            value_range: Vec::new(),
            constant: None,
        };
        handle(&TENSORS, Arc::new(Mutex::new(made)), "tensor descriptor")
    })
}

/// Ends a tensor descriptor.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclDestroyTensorDesc(desc: *const c_void) {
    if !desc.is_null() && TENSORS.remove(desc).is_none() {
        call("aclDestroyTensorDesc", || Err(NpuError::handle("tensor descriptor", desc)));
    }
}

/// What a getter reads, or a value for "unknown" with a message.
fn read<T>(name: &'static str, desc: *const c_void, unknown: T, get: impl Fn(&Tensor) -> T) -> T {
    let mut answer = unknown;
    call(name, || {
        answer = get(&tensor(desc)?.lock());
        Ok(())
    });
    answer
}

/// Data type of a descriptor; -1 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescType(desc: *const c_void) -> c_int {
    read("aclGetTensorDescType", desc, -1, |tensor| tensor.data_type)
}

/// Format of a descriptor; -1 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescFormat(desc: *const c_void) -> c_int {
    read("aclGetTensorDescFormat", desc, -1, |tensor| tensor.format)
}

/// Number of dimensions of a descriptor; 0 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescNumDims(desc: *const c_void) -> usize {
    read("aclGetTensorDescNumDims", desc, 0, |tensor| tensor.shape.len())
}

/// Number of elements of a descriptor; 0 for none or where it is not known.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescElementCount(desc: *const c_void) -> usize {
    read("aclGetTensorDescElementCount", desc, 0, elements)
}

/// Bytes of a descriptor's tensor; 0 for none or where it is not known.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescSize(desc: *const c_void) -> usize {
    read("aclGetTensorDescSize", desc, 0, |tensor| {
        elements(tensor).saturating_mul(crate::version::aclDataTypeSize(tensor.data_type))
    })
}

fn elements(tensor: &Tensor) -> usize {
    let count = tensor
        .shape
        .iter()
        .try_fold(1usize, |count, &dim| count.checked_mul(usize::try_from(dim).ok()?));
    count.unwrap_or(0)
}

/// One dimension of a descriptor; -1 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescDim(desc: *const c_void, index: usize) -> i64 {
    read("aclGetTensorDescDim", desc, -1, |tensor| tensor.shape.get(index).copied().unwrap_or(-1))
}

/// Name of a descriptor, valid as long as the descriptor keeps it; empty if it has none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetTensorDescName(desc: *mut c_void) -> *const c_char {
    read("aclGetTensorDescName", desc, c"".as_ptr(), |tensor| tensor.name.as_ptr())
}

acl! {
    /// One dimension of a descriptor.
    fn aclGetTensorDescDimV2(desc: *const c_void, index: usize, size: Out<i64>) {
        size.check("dimSize")?;
        let tensor = tensor(desc)?;
        let tensor = tensor.lock();
        let dim = tensor.shape.get(index).copied().ok_or_else(|| {
            let allowed = format!("less than the number of dimensions, {}", tensor.shape.len());
            NpuError::argument("index", index, &allowed)
        })?;
        size.put("dimSize", dim)
    }
}

acl! {
    /// Sets the format in which the tensor is stored.
    fn aclSetTensorFormat(desc: *mut c_void, format: c_int) {
        tensor(desc)?.lock().storage_format = format;
        Ok(())
    }
}

acl! {
    /// Sets the shape in which the tensor is stored.
    fn aclSetTensorShape(desc: *mut c_void, count: c_int, shape: In<i64>) {
        let shape = dims(count, shape)?;
        tensor(desc)?.lock().storage_shape = shape;
        Ok(())
    }
}

acl! {
    /// Says where the tensor is: on the device (0) or on the host (1, 2).
    fn aclSetTensorPlaceMent(desc: *mut c_void, placement: c_int) {
        if !(0..=2).contains(&placement) {
            return Err(NpuError::argument("memType", placement, "0, 1 or 2"));
        }
        tensor(desc)?.lock().placement = placement;
        Ok(())
    }
}

/// Names a descriptor.
// SAFETY: the name is that of the interface that this library is.
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "the name is that of the C interface")]
pub extern "C" fn aclSetTensorDescName(desc: *mut c_void, name: Text) {
    call("aclSetTensorDescName", || {
        let name = name.get().unwrap_or_default();
        tensor(desc)?.lock().name = CString::new(name).expect("a C string has no NUL inside");
        Ok(())
    });
}

/// Makes a description of a buffer; the memory stays the caller's.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclCreateDataBuffer(data: *mut c_void, size: usize) -> *mut c_void {
    or_null("aclCreateDataBuffer", || {
        let buffer = Buffer { address: data as usize, size };
        handle(&BUFFERS, Arc::new(Mutex::new(buffer)), "data buffer")
    })
}

acl! {
    /// Ends a description of a buffer.
    fn aclDestroyDataBuffer(buffer: *const c_void) {
        if buffer.is_null() {
            return Err(NpuError::null("dataBuffer"));
        }
        BUFFERS.remove(buffer).map(drop).ok_or_else(|| NpuError::handle("data buffer", buffer))
    }
}

/// Address of a buffer; NULL for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferAddr(buffer: *const c_void) -> *mut c_void {
    BUFFERS.get(buffer).map_or(0, |buffer| buffer.lock().address) as *mut c_void
}

/// Bytes of a buffer; 0 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferSizeV2(buffer: *const c_void) -> usize {
    BUFFERS.get(buffer).map_or(0, |buffer| buffer.lock().size)
}

/// Bytes of a buffer, of which 32 bits are told; 0 for none.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclGetDataBufferSize(buffer: *const c_void) -> u32 {
    aclGetDataBufferSizeV2(buffer) as u32
}

acl! {
    /// Lets a description describe another buffer.
    fn aclUpdateDataBuffer(buffer: *mut c_void, data: *mut c_void, size: usize) {
        if buffer.is_null() {
            return Err(NpuError::null("dataBuffer"));
        }
        let found = BUFFERS.get(buffer).ok_or_else(|| NpuError::handle("data buffer", buffer))?;
        *found.lock() = Buffer { address: data as usize, size };
        Ok(())
    }
}

/// Makes an empty set of attributes.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclopCreateAttr() -> *mut c_void {
    or_null("aclopCreateAttr", || handle(&ATTRIBUTES, Arc::default(), "attribute set"))
}

/// Ends a set of attributes.
// SAFETY: as above.
#[unsafe(no_mangle)]
pub extern "C" fn aclopDestroyAttr(attributes: *const c_void) {
    if !attributes.is_null() && ATTRIBUTES.remove(attributes).is_none() {
        call("aclopDestroyAttr", || Err(NpuError::handle("attribute set", attributes)));
    }
}

fn set(attributes: *mut c_void, name: Text, value: Attribute) -> NpuResult<()> {
    if attributes.is_null() {
        return Err(NpuError::null("attr"));
    }
    let set = ATTRIBUTES.get(attributes);
    let set = set.ok_or_else(|| NpuError::handle("attribute set", attributes))?;
    let name = name.get().ok_or_else(|| NpuError::null("attrName"))?;
    let mut set = set.lock();
    set.retain(|(other, _)| *other != name);
    set.push((name, value));
    Ok(())
}

fn list<T: Copy>(count: c_int, values: In<T>) -> NpuResult<Vec<T>> {
    let count =
        usize::try_from(count).map_err(|_| NpuError::argument("numValues", count, "0 or more"))?;
    let list = values.list(count)?;
    if list.len() != count {
        return Err(NpuError::null("values"));
    }
    Ok(list)
}

acl! {
    /// Sets a truth value.
    fn aclopSetAttrBool(attributes: *mut c_void, name: Text, value: u8) {
        set(attributes, name, Attribute::Bool(value != 0))
    }
}

acl! {
    /// Sets a number.
    fn aclopSetAttrInt(attributes: *mut c_void, name: Text, value: i64) {
        set(attributes, name, Attribute::Int(value))
    }
}

acl! {
    /// Sets a number with a fraction.
    fn aclopSetAttrFloat(attributes: *mut c_void, name: Text, value: f32) {
        set(attributes, name, Attribute::Float(value))
    }
}

acl! {
    /// Sets a text.
    fn aclopSetAttrString(attributes: *mut c_void, name: Text, value: Text) {
        let value = value.get().ok_or_else(|| NpuError::null("attrValue"))?;
        set(attributes, name, Attribute::Text(value))
    }
}

acl! {
    /// Sets a data type.
    fn aclopSetAttrDataType(attributes: *mut c_void, name: Text, value: c_int) {
        set(attributes, name, Attribute::DataType(value))
    }
}

acl! {
    /// Sets a list of truth values.
    fn aclopSetAttrListBool(attributes: *mut c_void, name: Text, count: c_int, values: In<u8>) {
        set(attributes, name, Attribute::Bools(list(count, values)?))
    }
}

acl! {
    /// Sets a list of numbers.
    fn aclopSetAttrListInt(attributes: *mut c_void, name: Text, count: c_int, values: In<i64>) {
        set(attributes, name, Attribute::Ints(list(count, values)?))
    }
}

acl! {
    /// Sets a list of numbers with fractions.
    fn aclopSetAttrListFloat(attributes: *mut c_void, name: Text, count: c_int, values: In<f32>) {
        set(attributes, name, Attribute::Floats(list(count, values)?))
    }
}

acl! {
    /// Sets a list of texts.
    fn aclopSetAttrListString(
        attributes: *mut c_void,
        name: Text,
        count: c_int,
        values: In<Text>,
    ) {
        let texts: Option<Vec<_>> = list(count, values)?.into_iter().map(Text::get).collect();
        set(attributes, name, Attribute::Texts(texts.ok_or_else(|| NpuError::null("values"))?))
    }
}

acl! {
    /// Sets a list of data types.
    fn aclopSetAttrListDataType(
        attributes: *mut c_void,
        name: Text,
        count: c_int,
        values: In<c_int>,
    ) {
        set(attributes, name, Attribute::DataTypes(list(count, values)?))
    }
}

acl! {
    /// Sets a list of lists of numbers.
    fn aclopSetAttrListListInt(
        attributes: *mut c_void,
        name: Text,
        count: c_int,
        counts: In<c_int>,
        values: In<In<i64>>,
    ) {
        let counts = list(count, counts)?;
        let values = list(count, values)?;
        let lists: NpuResult<Vec<_>> =
            counts.into_iter().zip(values).map(|(count, values)| list(count, values)).collect();
        set(attributes, name, Attribute::IntLists(lists?))
    }
}
