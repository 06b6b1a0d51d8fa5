//! The part of `app.toml` on the initial data of a store.

use serde::Deserialize;

use crate::description::Command;

/// How the data of a store are made: its service is started over a folder that was prepared, the steps fill it, it is
/// stopped, and the folder is kept. Before each start of the service its folder is a copy of that.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Seeded {
    /// The folder of the data, within an instance's folder.
    pub folder: String,
    /// Settings of its service or of the application that the data depend on, by name. Another value of one makes other
    /// data.
    #[serde(default)]
    pub settings: Vec<String>,
    /// Further files of the description that the data depend on.
    #[serde(default)]
    pub files: Vec<String>,
    /// The cost of the hash of each user's password, as an expression.
    pub hash_cost: Option<String>,
    /// The steps that fill it, in this order.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// A check program whose output depends only on the data: each start must repeat the output from when they were
    /// made.
    pub check: Option<Command>,
}

/// A program that fills a part of a store, and what its standard input is.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Step {
    /// The program: a path, or a name to look up in `PATH`.
    pub program: String,
    /// Its arguments, as templates.
    #[serde(default)]
    pub args: Vec<String>,
    /// A file of the description that it reads.
    pub input: Option<String>,
    /// Whether it is run once for each table of the users' data, whose rows it reads; its arguments see `table`.
    #[serde(default)]
    pub tables: bool,
    /// A file of the data set that it reads, `movies/schema.sql`. With `*` for the first part of the name it is run once for
    /// each such file, in the order of their names; its arguments see `table`.
    pub data: Option<String>,
}

impl Seeded {
    pub(crate) fn needs_people(&self) -> bool {
        self.hash_cost.is_some() || self.steps.iter().any(|step| step.tables)
    }

    pub(crate) fn needs_data(&self) -> bool {
        self.steps.iter().any(|step| step.data.is_some())
    }
}

impl Step {
    pub(crate) fn command(&self) -> Command {
        Command { program: self.program.clone(), args: self.args.clone() }
    }
}
