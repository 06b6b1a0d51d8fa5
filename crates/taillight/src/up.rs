//! `taillight up`: an application that a person can use in a browser, with its link and login.

use std::path::PathBuf;

use anyhow::{Result, bail};
use app::{App, Workload};
use clap::Args;
use spec::workload::Users;

use crate::{movies, serve};

/// Start an application for a person: movies, movies-java, movies-monolith (rent and watch films), social (a network of
/// friends), mediawiki, or video (a player). Print its link and a login, and stop it at Ctrl-C.
#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// The application, or the path of a folder with an app.toml that describes another.
    name: String,
    /// The port on loopback [default: a free one].
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// A setting: NAME=VALUE, or SERVICE.NAME=VALUE, such as cache=sphinx. May be given more than once.
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// The users that a social network or a wiki begins with [default: 1k].
    #[arg(long, value_name = "N")]
    users: Option<Users>,
    /// The folder of videos to play, which `taillight fileset make DIR --video 4x1/4 --real` makes.
    #[arg(long, value_name = "DIR")]
    file_set: Option<PathBuf>,
}

pub(crate) fn run(args: &UpArgs) -> Result<()> {
    let target = lab::target_name(&args.name).map_err(lab::Error::Target)?;
    let app = lab::application(&target).map_err(lab::Error::Target)?;
    let Some(app) = app.filter(|app| is_for_people(app)) else {
        let all = app::names().filter_map(|name| app::of_name(name).ok());
        let names: Vec<String> = all.filter(is_for_people).map(|app| app.name).collect();
        bail!(
            "{0} has no pages for a person; there are {1}. `taillight serve {0}` starts a server",
            args.name,
            names.join(", ")
        );
    };
    if app.workload() == Some(Workload::Movies) {
        if args.users.is_some() || args.file_set.is_some() {
            bail!("--users and --file-set are not of this site; its data set has --set users=1000");
        }
        return movies::start(&args.name, args.port, &args.set);
    }
    if let Some(folder) = args.file_set.as_ref().filter(|_| !lab::needs_files(&target)) {
        bail!("--file-set {}: {target} serves no files; leave it out", folder.display());
    }
    if app.workload() == Some(Workload::Video) && args.file_set.is_none() {
        bail!(
            "name a folder of videos by --file-set; `taillight fileset make DIR --video 4x1/4 --real` makes some that browsers play"
        );
    }
    let mut words = vec![args.name.clone()];
    words.extend(args.set.iter().map(|set| format!("--set={set}")));
    if let (Some(port), Some(front)) = (args.port, app.front()) {
        words.push(format!("--set={}.port={port}", front.name));
    }
    words.extend(args.users.map(|users| format!("--users={users}")));
    words.extend(args.file_set.as_ref().map(|folder| format!("--file-set={}", folder.display())));
    serve::other(&words)
}

/// Whether it has pages for a person: the embedded video server plays nothing.
fn is_for_people(app: &App) -> bool {
    let has_pages = [Workload::Social, Workload::Movies, Workload::Video];
    app.workload().is_some_and(|workload| has_pages.contains(&workload)) && !app.needs(app::Need::Videos)
}

/// The link and the login of the application at `address`, in a line, and how long its data last; `None` of one without
/// pages for a person.
pub(crate) fn for_people(app: &App, address: &str, lasts: &str) -> Option<String> {
    if !is_for_people(app) {
        return None;
    }
    let address = address.split(',').next().unwrap_or_default().trim_start_matches("http://");
    let address = address.trim_end_matches('/');
    let login = match app.workload() {
        Some(Workload::Movies) => "log in as user1 with the password password-1",
        Some(Workload::Social) => "log in as u0000001 with the password taillight",
        _ => return Some(format!("http://{address}/ plays the videos")),
    };
    Some(format!("http://{address}/: {login}; {lasts}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_site_is_told_with_its_login() {
        let check = |name: &str, expect: Option<&str>| {
            let app = app::of_name(name).unwrap();
            assert_eq!(for_people(&app, "127.0.0.1:80,127.0.0.1:81", "L").as_deref(), expect, "{name}");
        };
        check("social", Some("http://127.0.0.1:80/: log in as u0000001 with the password taillight; L"));
        check("mediawiki", Some("http://127.0.0.1:80/: log in as u0000001 with the password taillight; L"));
        check("movies-java", Some("http://127.0.0.1:80/: log in as user1 with the password password-1; L"));
        check("video", Some("http://127.0.0.1:80/ plays the videos"));
        check("video-server", None);
        check("nginx", None);
        check("jaeger", None);
    }
}
