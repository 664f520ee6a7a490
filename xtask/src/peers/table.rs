//! A table for people: columns in line, or Markdown.

/// How tables are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Plain,
    Markdown,
}

/// Rows below a head; all have as many cells.
pub(super) struct Table {
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    pub(super) fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|cell| (*cell).to_owned()).collect(), rows: Vec::new() }
    }

    pub(super) fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    pub(super) fn show(&self, form: Form) -> String {
        if form == Form::Markdown {
            let rule = vec!["---".to_owned(); self.head.len()];
            let line = |row: &Vec<String>| format!("| {} |\n", row.join(" | "));
            return [&self.head, &rule].into_iter().chain(&self.rows).map(line).collect();
        }
        let width = |column: usize| {
            let rows = std::iter::once(&self.head).chain(&self.rows);
            rows.filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max()
        };
        let widths: Vec<usize> =
            (0..self.head.len()).map(|column| width(column).unwrap_or(0)).collect();
        let line = |row: &Vec<String>| {
            let cells = row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}"));
            cells.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        std::iter::once(&self.head).chain(&self.rows).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_have_head_and_rows() {
        let mut table = Table::new(&["a", "bb"]);
        table.push(vec!["long".into(), "x".into()]);
        assert_eq!(table.show(Form::Plain), "a     bb\nlong  x\n");
        assert_eq!(table.show(Form::Markdown), "| a | bb |\n| --- | --- |\n| long | x |\n");
    }
}
