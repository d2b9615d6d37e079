// Licensed under the Apache License, Version 2.0. See LICENSE.

//! Running statements and shell commands, and printing what they give.

use std::fs;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use datafusion::common::TableReference;
use datafusion::common::instant::Instant;
use datafusion::config::Dialect;
use datafusion::logical_expr::{DdlStatement, LogicalPlan};
use datafusion::sql::parser::{CreateExternalTable, DFParser, Statement};
use datafusion::sql::sqlparser::dialect::dialect_from_str;
use datafusion_cli::command::{Command, OutputFormat};
use datafusion_cli::exec::exec_from_commands;
use datafusion_cli::print_format::PrintFormat;
use datafusion_cli::print_options::{MaxRows, PrintOptions};
use datafusion_trommel::table::Location;

use super::script::{Piece, pieces};
use crate::session::Session;
use crate::session::stores::{connect, is_azure};

/// How to print.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    /// How to print rows.
    pub format: PrintFormat,
    /// How many rows of a table to print.
    pub max_rows: MaxRows,
    /// Whether to print rows alone.
    pub quiet: bool,
    /// Whether a person types the statements.
    pub typed: bool,
}

/// Whether the shell goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// It does.
    GoOn,
    /// It was told to quit.
    Quit,
}

/// A session, and how its answers are printed.
pub struct Shell {
    session: Session,
    style: Style,
}

impl Shell {
    /// A shell in this session.
    pub fn new(session: Session, style: Style) -> Self {
        Self { session, style }
    }

    /// How it prints.
    pub fn style(&self) -> Style {
        self.style
    }

    /// The dialect that statements are in.
    pub fn dialect(&self) -> Dialect {
        self.session.context.state_ref().read().config_options().sql_parser.dialect
    }

    /// Makes a table of the files at a location.
    ///
    /// # Errors
    /// No file is there, or what is there can't be read.
    pub async fn register(&self, name: &str, location: &str) -> Result<()> {
        let table = self.session.tables.open(location).await.with_context(|| format!("table {name}"))?;
        self.session.context.register_table(TableReference::from(name), table)?;
        Ok(())
    }

    /// Runs statements and commands up to the first that fails. Errors tell `source` and the line.
    ///
    /// # Errors
    /// What the first statement to fail says.
    pub async fn run_script(&mut self, script: &str, source: Option<&str>) -> Result<()> {
        for piece in pieces(script) {
            let next = self.run(&piece).await;
            let next = match source {
                Some(source) => next.with_context(|| format!("{source}, line {}", piece.line))?,
                None => next?,
            };
            if next == Next::Quit {
                break;
            }
        }
        Ok(())
    }

    /// Runs one statement or command.
    ///
    /// # Errors
    /// What it says if it fails.
    pub async fn run(&mut self, piece: &Piece<'_>) -> Result<Next> {
        match piece.is_command {
            true => self.run_command(piece.text).await,
            false => self.run_statement(piece.text).await.map(|()| Next::GoOn),
        }
    }

    async fn run_statement(&self, sql: &str) -> Result<()> {
        let dialect = self.dialect();
        let Some(dialect) = dialect_from_str(dialect) else {
            bail!(
                "there is no dialect {dialect}; SET datafusion.sql_parser.dialect to one of {}",
                Dialect::available()
            );
        };
        let mut statements = DFParser::parse_sql_with_dialect(sql, dialect.as_ref())?;
        match statements.pop_front() {
            Some(Statement::CreateExternalTable(ddl)) if ddl.file_type.eq_ignore_ascii_case("TROMMEL") => {
                return self.create_table(ddl).await;
            }
            Some(Statement::CreateExternalTable(ddl)) => self.connect_azure(&ddl.locations).await?,
            Some(Statement::CopyTo(copy)) => self.connect_azure(&[copy.target]).await?,
            _ => {}
        }
        Ok(exec_from_commands(&self.session.context, vec![sql.to_owned()], &self.print_options()).await?)
    }

    /// Creates a table of Trommel's, whose options `datafusion-cli` would refuse.
    async fn create_table(&self, ddl: CreateExternalTable) -> Result<()> {
        let start = Instant::now();
        let state = self.session.context.state();
        let plan = state.statement_to_plan(Statement::CreateExternalTable(ddl)).await?;
        if let LogicalPlan::Ddl(DdlStatement::CreateExternalTable(ddl)) = &plan {
            for location in &ddl.locations {
                connect(&state, location, &ddl.options).await?;
            }
        }
        let schema = Arc::clone(plan.schema().inner());
        self.session.context.execute_logical_plan(plan).await?;
        let format = &state.config_options().format;
        Ok(self.print_options().print_batches(schema, &[], start, 0, format)?)
    }

    /// Connects the stores that `datafusion-cli` doesn't know.
    async fn connect_azure(&self, locations: &[String]) -> Result<()> {
        for location in locations {
            if Location::parse(location).is_ok_and(|l| is_azure(l.store().as_ref())) {
                connect(&self.session.context.state(), location, &Default::default()).await?;
            }
        }
        Ok(())
    }

    async fn run_command(&mut self, text: &str) -> Result<Next> {
        let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let Ok(command) = words.parse::<Command>() else {
            bail!("'\\{words}' is no command; \\? lists them");
        };
        let mut options = self.print_options();
        let was_quiet = options.quiet;
        match command {
            Command::Quit => return Ok(Next::Quit),
            Command::Include(Some(file)) => {
                let script = fs::read_to_string(&file).with_context(|| format!("reading {file}"))?;
                Box::pin(self.run_script(&script, Some(&file))).await?;
                return Ok(Next::GoOn);
            }
            Command::OutputFormat(None) => println!("The format is {:?}.", options.format),
            Command::OutputFormat(Some(format)) => match format.parse::<OutputFormat>() {
                Ok(format) => format.execute(&mut options)?,
                Err(_) => bail!("'\\{words}' is no command; try \\pset format csv"),
            },
            command => command.execute(&self.session.context, &mut options).await?,
        }
        self.style.format = options.format;
        if options.quiet != was_quiet {
            self.style.quiet = options.quiet;
        }
        Ok(Next::GoOn)
    }

    fn print_options(&self) -> PrintOptions {
        let Style { format, max_rows, quiet, typed } = self.style;
        let is_table = matches!(format, PrintFormat::Table | PrintFormat::Automatic);
        PrintOptions {
            format,
            // Counts and times would be noise among rows that a program reads.
            quiet: quiet || !is_table && !typed,
            // The limit would cut rows of other formats off too, and not say so.
            maxrows: if is_table { max_rows } else { MaxRows::Unlimited },
            color: typed,
            instrumented_registry: Arc::clone(&self.session.stores),
        }
    }
}
