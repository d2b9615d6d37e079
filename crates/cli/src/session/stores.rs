// Licensed under the Apache License, Version 2.0. See LICENSE.

//! The object store that a location is in.
//!
//! | scheme | store | told by |
//! |---|---|---|
//! | none, `file` | local files | |
//! | `s3` | Amazon S3 and what speaks its protocol | `AWS_*`, and the AWS profile; options `aws.*` |
//! | `oss`, `cos` | Alibaba and Tencent | `AWS_*`; options `aws.*` |
//! | `gs`, `gcs` | Google Cloud Storage | `GOOGLE_*`; options `gcp.*` |
//! | `az`, `azure`, `abfs`, `abfss`, `adl` | Azure Blob Storage | `AZURE_*` |
//! | `http`, `https` | single files of a web server | |

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::common::config::TableOptions;
use datafusion::common::{Result, plan_err};
use datafusion::execution::SessionState;
use datafusion_cli::object_storage::{
    AwsOptions, GcpOptions, get_cos_object_store_builder, get_gcs_object_store_builder,
    get_oss_object_store_builder, get_s3_object_store_builder,
};
use datafusion_trommel::table::Location;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::http::HttpBuilder;
use object_store::{ClientOptions, ObjectStore};
use url::Url;

/// Makes sure that the session has the store that a location is in.
///
/// `options` are those of a `CREATE EXTERNAL TABLE`; with any of a store's among them, the store is made anew.
///
/// # Errors
/// A location that can't be understood, a scheme without a store, or settings that the store refuses.
pub async fn connect(
    session: &SessionState,
    location: &str,
    options: &HashMap<String, String>,
) -> Result<()> {
    let location = Location::parse(location)?;
    let url = location.store();
    let mut settings = session.default_table_options();
    let mut told = false;
    for (key, value) in options.iter().filter(|(key, _)| key.starts_with("aws.") || key.starts_with("gcp.")) {
        settings.set(key, value)?;
        told = true;
    }
    let url: &Url = url.as_ref();
    if is_azure(url) && !url.username().is_empty() {
        // The session's registry knows a store by its host alone: two containers of an account would be one.
        return plan_err!(
            "location '{location}': write {}://{}/… and name the account in AZURE_STORAGE_ACCOUNT_NAME",
            url.scheme(),
            url.username()
        );
    }
    let runtime = session.runtime_env();
    if !told && runtime.object_store_registry.get_store(url).is_ok() {
        return Ok(());
    }
    let store = open(url, &settings).await.map_err(|e| e.context(format!("location '{location}'")))?;
    runtime.register_object_store(url, store);
    Ok(())
}

/// Whether a location is in Azure, of which DataFusion's shell knows nothing.
pub fn is_azure(url: &Url) -> bool {
    matches!(url.scheme(), "az" | "azure" | "abfs" | "abfss" | "adl")
}

async fn open(url: &Url, settings: &TableOptions) -> Result<Arc<dyn ObjectStore>> {
    let aws = settings.extensions.get::<AwsOptions>().cloned().unwrap_or_default();
    let gcp = settings.extensions.get::<GcpOptions>().cloned().unwrap_or_default();
    Ok(match url.scheme() {
        "s3" => Arc::new(get_s3_object_store_builder(url, &aws, false).await?.build()?),
        "oss" => Arc::new(get_oss_object_store_builder(url, &aws)?.build()?),
        "cos" => Arc::new(get_cos_object_store_builder(url, &aws)?.build()?),
        "gs" | "gcs" => Arc::new(get_gcs_object_store_builder(url, &gcp)?.build()?),
        "http" | "https" => {
            let client = ClientOptions::new().with_allow_http(true);
            let origin = url.origin().ascii_serialization();
            Arc::new(HttpBuilder::new().with_client_options(client).with_url(origin).build()?)
        }
        _ if is_azure(url) => {
            let container = url.host_str().unwrap_or_default();
            Arc::new(MicrosoftAzureBuilder::from_env().with_container_name(container).build()?)
        }
        scheme => {
            return plan_err!(
                "there is no store for '{scheme}': use a path, or a URL of s3, gs, az, http or https"
            );
        }
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;
    use crate::session::{Limits, Session};

    async fn try_connect(location: &str) -> Result<()> {
        let session = Session::new(&Limits::default()).unwrap();
        connect(&session.context.state(), location, &HashMap::new()).await
    }

    #[rstest]
    #[case::a_path("some/where.parquet")]
    #[case::a_file_url("file:///some/where.parquet")]
    #[case::web("https://example.com/a.parquet")]
    #[tokio::test]
    async fn stores_that_need_no_settings(#[case] location: &str) {
        try_connect(location).await.unwrap();
    }

    #[rstest]
    #[case::unknown("ftp://host/a.parquet", "no store for 'ftp'")]
    #[case::container_of_an_account("abfss://box@me.dfs.core.windows.net/a", "write abfss://box/")]
    #[tokio::test]
    async fn stores_that_cannot_be(#[case] location: &str, #[case] says: &str) {
        let error = try_connect(location).await.unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
}
