//! The table as a page.

use std::fmt::Write as _;

use super::cases::{CODES, Case, Code, Operator, Places};
use crate::oracle::Op;

/// The page of all cells, each of which does what it says.
pub(super) fn page() -> String {
    let mut text = String::from(
        "# What the operators support\n\n\
         Written by `cargo xtask support` from calls of the built libraries; the tests make the same \
         calls and compare with this page. Each cell was called with three ranks, as threads of one \
         process and as three processes, and every result compared with the operator's definition.\n\n\
         `ok`: accepted, and right on every rank. `5`: refused with HCCL_E_NOT_SUPPORT. `1`: refused \
         with HCCL_E_PARA (in place, where input and output must differ). *In place* is the same buffer, or \
         the own block of the larger one for AllGather, ReduceScatter and (on the root) Scatter.\n",
    );
    for operator in Operator::ALL {
        let _ = writeln!(text, "\n## {}\n", operator.name());
        let columns = columns(operator);
        let names: Vec<String> = columns.iter().map(|column| column.name()).collect();
        let _ = writeln!(text, "| data type | {} |", names.join(" | "));
        let _ = writeln!(text, "| --- |{}", " --- |".repeat(columns.len()));
        for code in CODES {
            let cells: Vec<String> =
                columns.iter().map(|column| column.cell(operator, code)).collect();
            let _ = writeln!(text, "| {} | {} |", code.name, cells.join(" | "));
        }
    }
    text
}

/// A column of an operator's table.
struct Column {
    op: Option<Op>,
    places: Places,
    /// Whether the operator has another place.
    is_one_of_two: bool,
}

fn columns(operator: Operator) -> Vec<Column> {
    let ops: Vec<Option<Op>> =
        if operator.reduces() { Op::ALL.into_iter().map(Some).collect() } else { vec![None] };
    let is_one_of_two = operator.places().len() > 1;
    let column = |op| {
        let columns = operator.places().iter();
        columns.map(move |&places| Column { op, places, is_one_of_two })
    };
    ops.into_iter().flat_map(column).collect()
}

impl Column {
    fn name(&self) -> String {
        let op = self.op.map_or("", |op| match op {
            Op::Sum => "sum",
            Op::Prod => "prod",
            Op::Max => "max",
            Op::Min => "min",
        });
        match (op, self.places, self.is_one_of_two) {
            ("", _, false) => "moved".to_owned(),
            ("", Places::Apart, true) => "two buffers".to_owned(),
            ("", Places::InPlace, true) => "in place".to_owned(),
            (op, Places::Apart, _) => op.to_owned(),
            (op, Places::InPlace, _) => format!("{op} in place"),
        }
    }

    fn cell(&self, operator: Operator, code: Code) -> String {
        let case = Case { operator, code, op: self.op, places: self.places };
        case.refusal().map_or_else(|| "ok".to_owned(), |code| code.to_string())
    }
}
