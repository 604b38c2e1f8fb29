//! CAO's web page.

use serde_json::json;

use crate::browser::Browser;
use crate::proxy::Proxy;
use crate::site::Site;

#[test]
fn the_page_lists_opens_types_mails_and_deletes() {
    let Some(site) = Site::start() else { return };
    let proxy = Proxy::start(site.page(), &site.port);
    let Some(mut page) = Browser::open(&format!("http://127.0.0.1:{}/", proxy.port)) else { return };
    page.until_text("No active sessions");
    site.cao(&["launch", "--agents", "helper", "--headless", "--auto-approve", "--session-name", "web"]);
    let terminal = site.get("/sessions/cao-web/terminals")[0]["id"].as_str().unwrap().to_owned();
    page.until_text("cao-web");
    page.until_text(&terminal);

    page.press("Terminal");
    page.until("document.querySelector('.xterm-rows')?.innerText.includes('>')");
    page.type_text("from the page\r");
    page.until("document.querySelector('.xterm-rows').innerText.includes('You said: from the page')");
    let output = site.get(&format!("/terminals/{terminal}/output?mode=last"));
    assert!(output["output"].as_str().unwrap().contains("You said: from the page"), "{output}");
    page.press("Close terminal");

    page.press("Inbox");
    page.until_text("No messages yet");
    page.type_text("mail from the page\r");
    page.until_text("mail from the page");
    // It asks again every five seconds. The words stand on its buttons too, but only on the message is one without the other.
    page.until(
        "[...document.querySelectorAll('div')].some(({ innerText }) =>
            innerText.includes('mail from the page') && /delivered/i.test(innerText) && !/pending/i.test(innerText))",
    );
    let mail = site.get(&format!("/terminals/{terminal}/inbox/messages"));
    assert_eq!(mail[0]["status"], "delivered", "{mail}");
    assert_eq!((&mail[0]["message"], &mail[1]), (&json!("mail from the page"), &json!(null)));
    page.escape();

    page.press("Delete session");
    page.press("Delete Session");
    page.until_text("No active sessions");
    assert_eq!(site.get("/sessions"), json!([]));
    assert_eq!(site.windows("cao-web"), [""; 0]);
}
