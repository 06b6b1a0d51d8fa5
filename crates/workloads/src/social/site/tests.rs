use super::*;

/// The operations that only a wiki has.
const OF_WIKIS: [SocialOperation; 5] = [
    SocialOperation::Read,
    SocialOperation::Edit,
    SocialOperation::Search,
    SocialOperation::WatchList,
    SocialOperation::RecentChanges,
];

#[test]
fn the_sites_that_come_with_it_are_read() {
    let own = Site::of(&spec::workload::Site::Own).unwrap();
    assert_eq!((own.name(), own.lacks()), ("own", OF_WIKIS.to_vec()));
    for operation in SocialOperation::ALL.into_iter().filter(|operation| !OF_WIKIS.contains(operation)) {
        assert!(own.has_way(operation, By::Page), "{}", operation.name());
        assert_eq!(own.has_way(operation, By::Ajax), operation.has_ajax(), "{}", operation.name());
    }
    assert_eq!(own.way(SocialOperation::Login, By::Page).len(), 2);
    assert!(own.is_lost_at(b"/login?next=/") && !own.is_lost_at(b"/loginx") && own.is_lost_by(401));
    let elgg = Site::of(&spec::workload::Site::Elgg).unwrap();
    let chat = [SocialOperation::SendChat, SocialOperation::ReceiveChat, SocialOperation::LiveFeed];
    assert_eq!((elgg.name(), elgg.lacks()), ("elgg", [&chat[..], &OF_WIKIS[..]].concat()));
    let wiki = Site::of(&spec::workload::Site::MediaWiki).unwrap();
    let mix = spec::workload::SocialMix::wiki();
    for operation in SocialOperation::ALL {
        assert_eq!(wiki.has(operation), mix.percent(operation) > 0.0, "{}", operation.name());
        assert!(!wiki.has_way(operation, By::Ajax), "{}", operation.name());
    }
    assert_eq!(wiki.way(SocialOperation::Edit, By::Page).len(), 2);
    assert!(wiki.is_lost_at(b"/index.php?title=Special:UserLogin") && !wiki.is_lost_at(b"/wiki/Main_Page"));
    assert!(!elgg.has_way(SocialOperation::WallPost, By::Ajax));
    assert!(own.can_prime() && !elgg.can_prime());
    let error = Site::of(&spec::workload::Site::File("/nowhere/x.toml".into())).unwrap_err();
    assert!(error.to_string().contains("/nowhere/x.toml: cannot be read"), "{error}");
}

/// Our own site's description with one text in place of another.
fn changed(from: &str, to: &str) -> Result<Site, String> {
    assert!(OWN.contains(from), "{from}");
    Site::read("x.toml", &OWN.replacen(from, to, 1)).map_err(|error| error.to_string())
}

#[test]
fn a_broken_description_is_refused_with_its_line() {
    let check = |from: &str, to: &str, says: &str| {
        let error = changed(from, to).unwrap_err();
        assert!(error.starts_with("the description of the site x.toml: ") && error.contains(says), "{error}");
    };
    let line = |text: &str| OWN[..OWN.find(text).unwrap()].matches('\n').count() + 1;
    let at = line("<main id=\"home\"");
    check("<main id=\"home\"", "", &format!("line {at}: the text '' has 0 B; 1 to 256 are looked for"));
    let long = "x".repeat(257);
    check("<main id=\"home\"", &long, &format!("line {at}: the text '{long}' has 257 B"));
    check("'data-post=\"'", "''", &format!("line {}: the text ''", line("data-post")));
    check("['data-post=\"', '\"']", "['data-post=\"']", "post is taken between two texts, and there are 1");
    check("take.post", "take.body", "{body} is a value of users");
    check("take.post", "take.each", "{each} is a value of users");
    let at = line("/.prime/{each}");
    check(
        "/.prime/{each}",
        "/.prime/{eech}",
        &format!("line {at}: '/.prime/{{eech}}' has the value {{eech}}"),
    );
    check(
        "/.prime/{each}",
        "/.prime/{eech}",
        "there are name, password, new, display, friend, stranger, body, stamp, page, each",
    );
    check("page = \"primed\"", "page = \"primad\"", &format!("line {}: there is no page 'primad'", at + 1));
    check("/.prime/{each}\"", "/.prime/{each}\"\nform = \"x=1\"", &format!("line {}", at + 1));
    check("csrf={csrf}&name={new}", "csrf={csrf}&name={each}", "the value {each}, which there is not");
    check(
        "csrf={csrf}&name={new}",
        "csrf={tocken}&name={new}",
        &format!("line {}: 'csrf={{tocken}}", line("{new}")),
    );
    check("{new}", "{new", "has the value {new&display={display}, which there is not");
    check(
        "&password={password}\"\nlocation = \"/login\"",
        "&password={password\"\nlocation = \"/login\"",
        "a brace without its other",
    );
    check("path = \"/register\"", "path = \"register\"", "'register' is no path");
    check("path = \"/register\"", "path = \"/a b\"", "'/a b' is no path");
    check("page = \"register\"", "page = \"registry\"", "there is no page 'registry'");
    check(
        "operation = \"home\"",
        "operation = \"homes\"",
        "there is no operation 'homes'; there are create-user",
    );
    check("by = \"ajax\"", "by = \"json\"", "wall-post is not done by 'json'");
    check("X-CSRF: {csrf}", "X CSRF", "'X CSRF' is no header");
    check("X-CSRF: {csrf}", "X-CSRF: {csrf}\\r\\nHost: evil", "is no header");
    check("location = \"/\"", "location = \"http://evil/\"", "is no path");
    let home = "path = \"/\"\npage = \"home\"";
    let shows = |text: &str| format!("{home}\nshows = \"{text}\"");
    check(home, &shows(""), &format!("line {}: the text '' has 0 B; 1 to 128", line(home) + 2));
    check(home, &shows(&"x".repeat(129)), "has 129 B; 1 to 128");
    check(home, &shows("{pagr}"), "the value {pagr}, which there is not");
    check("[page.home]", "[page.home]\nstatus = 99", "99 is no status");
    check("[page.home]", "[page.home]\nstatsu = 200", "statsu");
    check("name = \"own\"", "nmae = \"own\"", "line 6");
    check(
        "operation = \"login\"\npath = \"/login\"\npage",
        "operation = \"home\"\npath = \"/login\"\npage",
        "do not follow each other",
    );
    let looks = "has = ['1', '2', '3', '4', '5', '6', '7', '<main id=\"home\"']";
    check("has = ['<main id=\"home\"']", looks, "the page home looks for 11 texts");
    let assets = "assets = [\"/assets/site.css\", \"/assets/site.js\"]";
    let many = |count: usize| {
        let paths: Vec<String> = (0..count).map(|place| format!("\"/{place}\"")).collect();
        format!("assets = [\n{}\n]", paths.join(",\n"))
    };
    assert_eq!(changed(assets, &many(255)).unwrap().assets.len(), 255);
    let says = format!("line {}: a page has 300 assets; at most 255 are asked for", line(assets) + 256);
    check(assets, &many(300), &says);
    let without = Site::read("x.toml", "name = \"x\"").unwrap_err().to_string();
    assert!(without.contains("no request of login"), "{without}");
    let long = Site::read("x.toml", &"#".repeat(300_000)).unwrap_err().to_string();
    assert!(long.contains("at most 262144 are read"), "{long}");
}
