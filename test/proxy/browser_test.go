package proxy_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/axle-cd/axle/agent/agenttest"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/browser"
)

// page is a browser whose person has set a hub up.
type page struct {
	*browser.Browser
	t *testing.T
}

// run runs the body of an async function in the page and returns its text.
func (p page) run(body string) string {
	p.t.Helper()
	p.Eval("(window.said = undefined, (async () => {" + body + "})().then(v => { window.said = 'ok ' + v }, e => { window.said = 'no ' + e }), '')")
	said := ""
	eventually.For(p.t, limit, "the script", func() error {
		if said = p.Eval("window.said"); said == "undefined" {
			return errors.New("it still runs")
		}
		return nil
	})
	text, ok := strings.CutPrefix(said, "ok ")
	if !ok {
		p.t.Fatalf("%s: %s", body, said)
	}
	return text
}

// call makes a call of the API as the console does: with the session's cookie and
// its token.
func (p page) call(procedure, request string) string {
	p.t.Helper()
	return p.run(`const s = await (await fetch('/login/session')).json();
		const a = await fetch('/axle.hub.v1.` + procedure + `', {method: 'POST', headers: {'Content-Type': 'application/json', 'Axle-CSRF': s.csrf}, body: ` + strconv.Quote(request) + `});
		return await a.text()`)
}

func (p page) text(answer, field string) string {
	p.t.Helper()
	values := map[string]any{}
	if err := json.Unmarshal([]byte(answer), &values); err != nil {
		p.t.Fatalf("%s: %v", answer, err)
	}
	return fmt.Sprint(values[field])
}

// TestABrowserExecs: a page opens a command in a container with its session
// alone: a ticket, which goes as a subprotocol of the WebSocket.
func TestABrowserExecs(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "shell", "exec sleep 3600")
	h := hubtest.New(t, hubtest.Config{AdminToken: "none"})
	token, err := os.ReadFile(h.SetupTokenFile())
	if err != nil {
		t.Fatal(err)
	}
	p := page{browser.New(t), t}
	p.Open(h.URL + "/setup?token=" + strings.TrimSpace(string(token)))
	p.Fill("#email", "ann@example.com")
	p.Fill("#password", "correct horse battery staple")
	p.Fill("#again", "correct horse battery staple")
	p.Click("main button")
	p.WaitForText("The hub is set up")
	// The console's page, whose policy is in force.
	p.Open(h.URL + "/clusters/edge")
	made := p.call("Clusters/Create", `{"name": "edge"}`)
	agenttest.Start(t, agenttest.Config{HubURL: h.URL, Kubeconfig: b.kube.Kubeconfig(), BootstrapToken: p.text(made, "bootstrapToken")})
	eventually.For(t, limit, "the tunnel", func() error {
		if state := p.text(p.call("Clusters/Get", `{"name": "edge"}`), "tunnel"); state != "Up" {
			return fmt.Errorf("the tunnel is %s", state)
		}
		return nil
	})
	path := "/api/v1/namespaces/" + namespace + "/pods/shell/exec?command=sh&command=-c&command=read+line%3B+echo+got+%24line&stdin=true&stdout=true&stderr=true"
	ticket := p.call("ClusterAPI/CreateTicket", `{"cluster": "edge", "path": `+strconv.Quote(path)+`}`)
	// Channel 0 is stdin, 1 stdout, 3 the end, and 255 closes one of them.
	said := p.run(`return await new Promise((done, failed) => {
		const out = [], ws = new WebSocket('ws://' + location.host + '` + p.text(ticket, "path") + `', ['v5.channel.k8s.io', 'axle.ticket.` + p.text(ticket, "ticket") + `']);
		ws.binaryType = 'arraybuffer';
		ws.onopen = () => ws.send(new Uint8Array([0, ...new TextEncoder().encode('from a page\n')]));
		ws.onmessage = m => { const bytes = new Uint8Array(m.data); out.push(bytes[0] + ' ' + new TextDecoder().decode(bytes.slice(1))) };
		ws.onerror = () => failed('the WebSocket failed');
		ws.onclose = () => done(ws.protocol + ' | ' + out.join(' | '));
	})`)
	if !strings.HasPrefix(said, "v5.channel.k8s.io | ") || !strings.Contains(said, "1 got from a page") || !strings.Contains(said, `"status":"Success"`) {
		t.Errorf("the page got %q", said)
	}
}
