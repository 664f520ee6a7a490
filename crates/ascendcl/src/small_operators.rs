//! The two operators that the wheel calls by name past PyTorch's dispatcher, to pad what it gathers.

use std::ffi::c_void;
use std::sync::Arc;

use softnpu::copy::{Place, place};
use softnpu::stream::Stream;
use softnpu::task::{Address, Work};
use softnpu::{NpuError, NpuResult};

use crate::tensor::{Operand, text_attribute};

/// Most dimensions of a tensor.
const DIMS_MAX: usize = 8;

/// Whether an operator is one of these.
pub(crate) fn knows(name: &str) -> bool {
    matches!(name, "Fill" | "PadV3")
}

/// Runs an operator in stream order.
pub(crate) fn run(
    name: &str,
    inputs: &[Operand],
    outputs: &[Operand],
    attributes: *const c_void,
    stream: &Arc<Stream>,
) -> NpuResult<()> {
    match (name, inputs, outputs) {
        ("Fill", [_dims, value], [output]) => fill(value, output, stream),
        ("PadV3", [x, paddings, rest @ ..], [output]) if rest.len() <= 1 => {
            let mode = text_attribute(attributes, "mode").unwrap_or_default();
            if !mode.is_empty() && mode != "constant" {
                return Err(NpuError::unsupported(format!("PadV3 with mode {mode}")));
            }
            pad(x, paddings, rest.first(), output, stream)
        }
        _ => {
            let given = format!("{} inputs and {} outputs", inputs.len(), outputs.len());
            Err(NpuError::argument(name, given, "as many as the operator has"))
        }
    }
}

fn bad(what: &str, operand: &Operand, allowed: &str) -> NpuError {
    let given = format!(
        "a tensor of type {} and shape {:?} in {} bytes",
        operand.data_type, operand.shape, operand.bytes
    );
    NpuError::argument(what, given, allowed)
}

/// An operand that the stream reads or writes later: its memory must be the device's.
fn on_device(what: &str, operand: &Operand) -> NpuResult<(Address, usize)> {
    let count = operand.elements().ok_or_else(|| bad(what, operand, "as long as its shape"))?;
    if count == 0 {
        return Ok((Address(std::ptr::null_mut()), 0));
    }
    let address = operand.address as *mut u8;
    match place(what, address, count * operand.element())? {
        Place::Device(_) => Ok((Address(address), count)),
        Place::Pinned | Place::Pageable => Err(bad(what, operand, "in device memory")),
    }
}

/// One element: its bytes now if it is on the host, or where to read them later.
enum Element {
    Known(Vec<u8>),
    Later(Address, usize),
}

impl Element {
    fn new(what: &str, operand: &Operand) -> NpuResult<Self> {
        if !operand.on_host {
            let (address, count) = on_device(what, operand)?;
            if count == 0 {
                return Err(bad(what, operand, "one element"));
            }
            return Ok(Self::Later(address, operand.element()));
        }
        let size = operand.element();
        if operand.address == 0 || operand.bytes < size {
            return Err(bad(what, operand, "one element"));
        }
        // SAFETY: a host tensor is readable for as many bytes as its buffer says, by the contract
        // of the C function.
        Ok(Self::Known(
            unsafe { std::slice::from_raw_parts(operand.address as *const u8, size) }.to_vec(),
        ))
    }

    fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Known(bytes) => bytes.clone(),
            Self::Later(address, size) => {
                // SAFETY: checked to be device memory; read in stream order.
                let bytes = unsafe { std::slice::from_raw_parts(address.0, *size) };
                bytes.to_vec()
            }
        }
    }
}

/// Puts one element `count` times.
///
/// # Safety
/// 1. `to` is writable for `count` elements.
unsafe fn repeat(to: *mut u8, element: &[u8], count: usize) {
    for i in 0..count {
        // SAFETY: (1).
        unsafe {
            let to = to.add(i * element.len());
            std::ptr::copy_nonoverlapping(element.as_ptr(), to, element.len());
        }
    }
}

fn fill(value: &Operand, output: &Operand, stream: &Arc<Stream>) -> NpuResult<()> {
    if value.data_type != output.data_type {
        return Err(bad("the value of Fill", value, "of the output's type"));
    }
    let element = Element::new("the value of Fill", value)?;
    let (to, count) = on_device("the output of Fill", output)?;
    stream.submit(Work::Run(Some(Box::new(move || {
        let to = to;
        // SAFETY: checked to be device memory of that many elements.
        unsafe { repeat(to.0, &element.bytes(), count) };
    }))))
}

/// Numbers of a host tensor of 32- or 64-bit integers.
fn host_numbers(what: &str, operand: &Operand) -> NpuResult<Vec<i64>> {
    let allowed = "a host tensor of int32 or int64";
    let count = operand.elements().filter(|_| operand.on_host && operand.address != 0);
    let count = count.ok_or_else(|| bad(what, operand, allowed))?;
    // SAFETY: a host tensor is readable for as many bytes as its buffer says, and its elements fit
    // the buffer; alignment is not relied on.
    unsafe {
        match operand.data_type {
            3 => Ok((0..count)
                .map(|i| (operand.address as *const i32).add(i).read_unaligned().into())
                .collect()),
            9 => Ok((0..count)
                .map(|i| (operand.address as *const i64).add(i).read_unaligned())
                .collect()),
            _ => Err(bad(what, operand, allowed)),
        }
    }
}

fn pad(
    x: &Operand,
    paddings: &Operand,
    value: Option<&Operand>,
    output: &Operand,
    stream: &Arc<Stream>,
) -> NpuResult<()> {
    let numbers = host_numbers("the paddings of PadV3", paddings)?;
    let dims = x.shape.len();
    let fits = dims > 0
        && dims <= DIMS_MAX
        && numbers.len() == 2 * dims
        && output.shape.len() == dims
        && x.data_type == output.data_type
        && value.is_none_or(|value| value.data_type == x.data_type)
        && (0..dims).all(|d| {
            let (before, after) = (numbers[2 * d], numbers[2 * d + 1]);
            let padded = x.shape[d].checked_add(before).and_then(|n| n.checked_add(after));
            before >= 0 && after >= 0 && padded == Some(output.shape[d])
        });
    if !fits {
        let allowed = format!("the shape {:?} with paddings {numbers:?}, and one type", x.shape);
        return Err(bad("the output of PadV3", output, &allowed));
    }
    let element = match value {
        Some(value) => Element::new("the value of PadV3", value)?,
        None => Element::Known(vec![0; x.element()]),
    };
    let (from, from_count) = on_device("the input of PadV3", x)?;
    let (to, to_count) = on_device("the output of PadV3", output)?;
    let size = x.element();
    let before: Vec<usize> = numbers.iter().step_by(2).map(|&n| n as usize).collect();
    let shape = |operand: &Operand| operand.shape.iter().map(|&n| n as usize).collect::<Vec<_>>();
    let (from_shape, to_shape) = (shape(x), shape(output));
    stream.submit(Work::Run(Some(Box::new(move || {
        let (from, to) = (from, to);
        // SAFETY: both were checked to be device memory of as many elements as their shapes say,
        // and the padded shape holds the shape at `before`.
        unsafe {
            repeat(to.0, &element.bytes(), to_count);
            if from_count == 0 {
                return;
            }
            let row = from_shape[from_shape.len() - 1];
            for index in 0..from_count / row {
                let target = row_offset(index, &from_shape, &to_shape, &before);
                let source = from.0.add(index * row * size);
                std::ptr::copy_nonoverlapping(source, to.0.add(target * size), row * size);
            }
        }
    }))))
}

/// First element, in the padded tensor, of a row of the tensor inside it.
fn row_offset(mut index: usize, inner: &[usize], outer: &[usize], before: &[usize]) -> usize {
    let last = inner.len() - 1;
    let (mut offset, mut stride) = (before[last], outer[last]);
    for d in (0..last).rev() {
        offset += (index % inner[d] + before[d]) * stride;
        index /= inner[d];
        stride *= outer[d];
    }
    offset
}
