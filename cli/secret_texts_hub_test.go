package cli_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/mask"
	"github.com/axle-cd/axle/internal/spelling"
)

// longPart is the length of a part of a spelling that stands nowhere by accident.
const longPart = 7

// secretCalls are requests with secrets, by call: {secret} is the value as JSON text, {url} in
// a URL, {n} a new number, {up} a server that repeats what it is asked. Of each call at
// least one request is wrong whatever the value is, so that there is an error about it.
var secretCalls = map[string][]string{
	"Repositories/Create":     repositoryRequests(`"name": "repo-{n}", "project": "default"`),
	"Repositories/Update":     repositoryRequests(`"name": "base"`),
	"Webhooks/Create":         {`{"name": "hook-{n}", "provider": "github", "secret": "{secret}"}`, `{"name": "hook-{n}", "provider": "none", "secret": "{secret}"}`},
	"Services/Create":         serviceRequests(`"ref": {"cluster": "edge-1", "name": "made-{n}"}`),
	"Services/Apply":          serviceRequests(`"ref": {"cluster": "edge-1", "name": "applied-{n}"}`),
	"Services/Update":         serviceRequests(`"ref": {"cluster": "edge-1", "name": "web"}`),
	"GlobalServices/Apply":    serviceRequests(`"name": "global-{n}", "settings": {"tags": {"no": "cluster"}}`),
	"ManagedNamespaces/Apply": serviceRequests(`"name": "space-{n}", "settings": {"tags": {"no": "cluster"}}`),
	"Contexts/Create":         contextRequests("context", "ctx-{n}"),
	"Applications/Apply": {
		`{"name": "app-{n}", "settings": {"project": "default", "cluster": "edge-1", "namespace": "web", "redirectUris": ["http://127.0.0.1/back"], "clientId": "wiki-{n}", "clientSecret": "{secret}"}}`,
		`{"name": "BAD {n}", "settings": {"project": "default", "clientId": "wiki", "clientSecret": "{secret}"}}`,
	},
	"TelemetrySources/Apply": {
		`{"name": "store-{n}", "settings": {"project": "default", "cluster": "edge-1", "type": "prometheus", "url": "https://127.0.0.1/", "auth": "bearer", "token": "{secret}"}}`,
		`{"name": "store-{n}", "settings": {"project": "default", "cluster": "edge-1", "type": "prometheus", "url": "https://127.0.0.1/", "auth": "basic", "username": "ann", "password": "{secret}"}}`,
		`{"name": "bad-{n}", "settings": {"project": "default", "cluster": "edge-1", "type": "prometheus", "url": "ftp://127.0.0.1/", "auth": "none", "password": "{secret}", "token": "{secret}"}}`,
	},
	"Contexts/Update": contextRequests("context", "base"),
	"Outputs/Put":     contextRequests("outputs", "out-{n}"),
	"NotificationSinks/Apply": {
		`{"name": "sink-{n}", "settings": {"type": "WEBHOOK"}, "url": "{up}/hook/{url}?key={url}", "secret": "{secret}"}`,
		`{"name": "slack-{n}", "settings": {"type": "SLACK"}, "url": "{up}/hook/{url}"}`,
		`{"name": "bad-{n}", "settings": {"type": "WEBHOOK"}, "url": "{secret}", "secret": "{secret}"}`,
		`{"name": "bad-{n}", "settings": {"type": "WEBHOOK"}, "url": "ftp://127.0.0.1/{url}", "secret": "{secret}"}`,
		`{"name": "bad-{n}", "settings": {"type": "TEAMS"}, "url": "https://ann:{url}@127.0.0.1/%zz"}`,
		`{"name": "bad-{n}", "settings": {"type": "PLURAL"}, "url": "{up}/{url}", "secret": "{secret}"}`,
	},
	"Providers/Create":        {`{"provider": {"name": "own-{n}", "issuer": "{up}/{n}", "clientId": "axle"}, "clientSecret": "{secret}"}`, `{"provider": {"name": "BAD {n}"}, "clientSecret": "{secret}"}`},
	"Providers/Update":        {`{"provider": {"name": "none-{n}"}, "clientSecret": "{secret}"}`},
	"Providers/Try":           {`{"provider": {"name": "own-{n}", "issuer": "{up}", "clientId": "axle"}, "clientSecret": "{secret}"}`},
	"Sessions/Setup":          {`{"setupToken": "{secret}", "email": "ann@example.com"}`},
	"Logins/Trade":            {`{"code": "{secret}", "verifier": "{secret}"}`},
	"Logins/PollDevice":       {`{"deviceCode": "{secret}"}`},
	"Federation/Exchange":     {`{"subjectToken": "{secret}"}`, `{"subjectToken": "eyJhbGciOiJub25lIn0.{url}.{url}"}`},
	"Clusters/AgentManifests": {`{"bootstrapToken": "{secret}", "hubUrl": "ftp://nowhere"}`},
}

// notSecret are fields that are called like secrets, with what they are.
var notSecret = map[string]string{
	"Users/Create token_scopes":                     "words",
	"ManagedNamespaces/Apply settings.pull_secrets": "names of Secrets",
	"Fleet/Watch resume_token":                      "a position in a stream",
	"Applications/Apply settings.secret":            "the name of a Secret",
	"Applications/Apply settings.client_secret_key": "a key of a Secret",
}

func repositoryRequests(head string) []string {
	var all []string
	for _, rest := range []string{
		`"url": "{up}/git-{n}", "credentials": {"username": "ann", "password": "{secret}"}`,
		`"url": "{up}/git-{n}", "auth": "ssh", "credentials": {"username": "ann", "password": "{secret}"}`,
		`"url": "ssh://git@127.0.0.1:1/x", "credentials": {"privateKey": "{secret}", "passphrase": "{secret}"}`,
		`"url": "https://127.0.0.1:1/x", "credentials": {"clientCertificate": "{secret}", "clientKey": "{secret}"}`,
		`"url": "{up}/git-{n}", "credentials": {"proxyUsername": "{secret}", "proxyPassword": "{secret}"}`,
		`"url": "{up}/git-{n}", "options": {"proxy": "{up}"}, "credentials": {"proxyUsername": "ann", "proxyPassword": "{secret}"}`,
		`"url": "{up}/git-{n}", "credentials": {"appId": "1", "installationId": "1", "privateKey": "{secret}"}`,
		`"url": "{up}/git-{n}", "auth": "aws", "credentials": {"accessKeyId": "{secret}", "secretAccessKey": "{secret}", "sessionToken": "{secret}", "assumeRoleArn": "{secret}"}`,
		`"url": "{up}/git-{n}", "auth": "gcp", "credentials": {"serviceAccountJson": "{secret}"}`,
		`"url": "{up}/git-{n}", "auth": "azure", "credentials": {"tenantId": "{secret}", "clientId": "{secret}", "clientSecret": "{secret}"}`,
		`"url": "http://ann:{url}@127.0.0.1:1/x"`,
	} {
		all = append(all, "{"+head+", "+rest+"}")
	}
	return all
}

func serviceRequests(head string) []string {
	return []string{
		`{` + head + `, "spec": {"repository": "base", "git": {"ref": "main"}, "secrets": {"key": "{secret}"}}}`,
		`{` + head + `, "spec": {"repository": "none", "git": {"ref": "main"}, "secrets": {"key": "{secret}"}}}`,
		`{` + head + `, "spec": {"repository": "base", "git": {"ref": "main"}, "secrets": {"a b/c": "{secret}"}}}`,
		`{` + head + `, "spec": {"git": {"url": "http://ann:{url}@127.0.0.1:1/x", "ref": "main"}, "secrets": {"key": "{secret}"}}}`,
		`{` + head + `, "spec": {"repository": "base", "git": {"ref": "main"}, "helm": {"url": "http://ann:{url}@127.0.0.1:1/x", "chart": "x"}, "secrets": {"key": "{secret}"}}}`,
	}
}

func contextRequests(field, name string) []string {
	return []string{
		`{"` + field + `": {"name": "` + name + `", "values": "{}", "secrets": {"key": "{secret}"}}}`,
		`{"` + field + `": {"name": "` + name + `", "values": "[", "secrets": {"key": "{secret}"}}}`,
		`{"` + field + `": {"name": "A B {n}", "secrets": {"a b/c": "{secret}"}}}`,
	}
}

// shapes are what a value stands in: what a parser would quote of each differs.
func shapes() map[string]string {
	text, _ := json.Marshal(map[string]string{"type": "service_account", "private_key": spelling.Planted}) // a map of strings has JSON
	return map[string]string{
		"plain": spelling.Planted, "JSON": string(text), "cut JSON": string(text[:len(text)-1]), "YAML": "password: " + spelling.Planted + "\n\tx: [",
		"PEM":     "-----BEGIN PRIVATE KEY-----\n" + base64.StdEncoding.EncodeToString([]byte(spelling.Planted)) + "\n-----END PRIVATE KEY-----\n",
		"bad PEM": "-----BEGIN RSA PRIVATE KEY-----\n" + spelling.Planted, "lines": spelling.Planted + "\r\n\x01" + spelling.Planted, "long": strings.Repeat(spelling.Planted, 2000),
	}
}

// textBed is a hub of which all texts are kept.
type textBed struct {
	*shell
	hub   *hubtest.Hub
	up    *httptest.Server
	asked sync.Map // the first parts of paths that the server was asked for
	mu    sync.Mutex
	log   bytes.Buffer
	n     int
}

// Write keeps a line of the log.
func (b *textBed) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.log.Write(p)
}

// repeat refuses all, and quotes the request, with what it decodes of it.
func (b *textBed) repeat(w http.ResponseWriter, r *http.Request) {
	b.asked.Store(strings.Split(r.RequestURI+"/", "/")[1], true)
	user, password, _ := r.BasicAuth()
	w.Header().Set("Content-Type", "text/plain")
	w.WriteHeader(http.StatusForbidden)
	fmt.Fprintf(w, "%s %s of %s %s %q refused\n", r.Method, r.RequestURI, user, password, r.Header)
}

func newTextBed(t *testing.T) *textBed {
	t.Helper()
	b := &textBed{}
	b.up = httptest.NewServer(http.HandlerFunc(b.repeat))
	t.Cleanup(b.up.Close)
	config := hubtest.Config{DataDir: hubtest.Folder(t)}
	config.Hub.AllowHTTPUpstreams = true
	config.Hub.Log = slog.New(slog.NewTextHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte("[default]\naws_access_key_id = a\naws_secret_access_key = "+spelling.Planted+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config.Hub.Backup.To, config.Hub.Backup.Endpoint, config.Hub.Backup.CredentialsFile = "s3://bucket/axle", b.up.URL, file
	b.hub = hubtest.New(t, config)
	b.shell = shellOf(t, b.hub)
	return b
}

// call makes a call, and returns its status and its answer.
func (b *textBed) call(call, request string) (int, string) {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, b.hub.URL+"/axle.hub.v1."+call, strings.NewReader(request))
	if err != nil {
		b.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer "+b.hub.AdminToken)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.Fatal(err)
	}
	return answer.StatusCode, string(text)
}

// clean fails for a text that has the value in any spelling.
func (b *textBed) clean(where, text string) {
	b.Helper()
	if how, part := spelling.In(text, spelling.Planted, longPart); part != "" {
		at := strings.Index(text, part)
		b.Errorf("%s quotes the value (%s): %q", where, how, text[max(0, at-200):min(len(text), at+100)])
	}
}

// methods are the calls of the hub.
func methods() map[string]protoreflect.MethodDescriptor {
	all := map[string]protoreflect.MethodDescriptor{}
	protoregistry.GlobalFiles.RangeFilesByPackage("axle.hub.v1", func(file protoreflect.FileDescriptor) bool {
		for i := range file.Services().Len() {
			for j := range file.Services().Get(i).Methods().Len() {
				m := file.Services().Get(i).Methods().Get(j)
				all[string(m.Parent().Name())+"/"+string(m.Name())] = m
			}
		}
		return true
	})
	return all
}

// secretFields are the fields of a message that hold secrets, by path.
func secretFields(at string, m protoreflect.MessageDescriptor) (all []string) {
	for i := range m.Fields().Len() {
		f := m.Fields().Get(i)
		switch text := f.Kind() == protoreflect.StringKind || f.IsMap() && f.MapValue().Kind() == protoreflect.StringKind; {
		case text && mask.HoldsSecret(f):
			all = append(all, at+string(f.Name()))
		case f.Message() != nil && !f.IsMap() && strings.Count(at, ".") < 5:
			all = append(all, secretFields(at+string(f.Name())+".", f.Message())...)
		}
	}
	return all
}

// given says whether a request has a field.
func given(t *testing.T, m protoreflect.MessageDescriptor, request, path string) bool {
	t.Helper()
	kind, err := protoregistry.GlobalTypes.FindMessageByName(m.FullName())
	if err != nil {
		t.Fatal(err)
	}
	message := kind.New()
	if err := protojson.Unmarshal([]byte(request), message.Interface()); err != nil {
		t.Fatalf("%s: %v", request, err)
	}
	for name := range strings.SplitSeq(path, ".") {
		f := message.Descriptor().Fields().ByName(protoreflect.Name(name))
		if !message.Has(f) {
			return false
		}
		if f.Message() != nil && !f.IsMap() {
			message = message.Get(f).Message()
		}
	}
	return true
}

// Every field that takes a secret has a request, and one that is refused.
func TestEverySecretFieldIsWritten(t *testing.T) {
	for call, m := range methods() {
		for _, field := range secretFields("", m.Input()) {
			if notSecret[call+" "+field] == "" && !slices.ContainsFunc(secretCalls[call], func(request string) bool { return given(t, m.Input(), request, field) }) {
				t.Errorf("%s: no request of secretCalls gives the secret %s", call, field)
			}
		}
	}
}

// plantAll makes every call with the value in every shape, and looks at each answer.
func (b *textBed) plantAll() {
	b.Helper()
	for _, of := range []string{
		`Clusters/Create {"name": "edge-1"}`, `Repositories/Create {"name": "base", "project": "default", "url": "` + b.up.URL + `/base"}`,
		`Contexts/Create {"context": {"name": "base", "values": "{}"}}`, `NotificationSinks/Apply {"name": "inbox", "settings": {"type": "PLURAL", "users": ["admin@example.com"]}}`,
		`Services/Create {"ref": {"cluster": "edge-1", "name": "web"}, "spec": {"repository": "base", "git": {"ref": "main"}}}`,
		`NotificationSinks/Apply {"name": "hook", "settings": {"type": "WEBHOOK"}, "url": "` + b.up.URL + `/routed/` + url.QueryEscape(spelling.Planted) + `", "secret": ` + quoted(spelling.Planted) + `}`,
		`NotificationRouters/Apply {"name": "all", "settings": {"events": ["*"], "sinks": ["inbox", "hook"]}}`,
		`Clusters/Create {"name": "edge-2"}`, // something to notify of
	} {
		call, request, _ := strings.Cut(of, " ")
		if status, answer := b.call(call, request); status != http.StatusOK {
			b.Fatalf("%s: %d: %s", of, status, answer)
		}
	}
	// Later calls change the repository, so that nobody would ask for it any more.
	eventually.For(b, 20*time.Second, "the repository is fetched", func() error {
		if _, asked := b.asked.Load("base"); !asked {
			return errors.New("nobody asked for it")
		}
		return nil
	})
	for call, requests := range secretCalls {
		refused := 0
		for _, request := range requests {
			for shape, value := range shapes() {
				b.n++
				text := quoted(value)
				filled := strings.NewReplacer("{secret}", text[1:len(text)-1], "{url}", url.QueryEscape(value), "{n}", fmt.Sprint(b.n), "{up}", b.up.URL).Replace(request)
				status, answer := b.call(call, filled)
				if call == "Webhooks/Create" && status == http.StatusOK {
					answer, _, _ = strings.Cut(answer, `"secret":`) // it is shown once, on purpose
				}
				b.clean(call+" "+request+" ("+shape+")", answer)
				if status != http.StatusOK {
					refused++
				} else if name := fmt.Sprint("sink-", b.n); strings.Contains(request, "sink-{n}") {
					_, answer := b.call("NotificationSinks/Test", `{"name": "`+name+`"}`)
					b.clean("the test of a sink", answer)
				} else if call == "Repositories/Create" && strings.Contains(request, "git-{n}") && shape == "plain" {
					_, answer := b.call("Repositories/Refresh", fmt.Sprintf(`{"name": "repo-%d", "wait": true}`, b.n))
					b.clean("the refresh of a repository, "+request, answer)
				}
			}
		}
		if refused == 0 {
			b.Errorf("%s: no request was refused, so no error was seen", call)
		}
	}
}

// quoted is a text as JSON.
func quoted(text string) string {
	out, _ := json.Marshal(text) // a string has JSON
	return string(out)
}

// Whatever secret is given to the hub, and whether or not it is accepted: no text has it,
// in no spelling. Texts are answers of the API, errors, states, events, audit records,
// notifications, what others answered to the hub, logs and the support bundle;
// and the database has it sealed.
func TestNoTextHasASecret(t *testing.T) {
	b := newTextBed(t)
	b.plantAll()
	eventually.For(t, 20*time.Second, "notifications, a fetch and a backup failed", func() error {
		for _, path := range []string{"hook", "routed", "bucket"} {
			if _, asked := b.asked.Load(path); !asked {
				return fmt.Errorf("nobody asked for /%s", path)
			}
		}
		if _, status := b.call("Hub/Status", "{}"); !strings.Contains(status, `"failure"`) {
			return fmt.Errorf("no backup failed: %s", status)
		}
		if _, inbox := b.call("Notifications/List", "{}"); !strings.Contains(inbox, "edge-2") {
			return fmt.Errorf("the inbox has %s", inbox)
		}
		return nil
	})
	read := 0
	for call, m := range methods() {
		_, verb, _ := strings.Cut(call, "/")
		if m.IsStreamingServer() || !strings.HasPrefix(verb, "List") && !slices.Contains([]string{"Hub/Status", "Hub/AtRisk", "Fleet/NeedsYou", "Fleet/RecentChanges", "Fleet/Summary", "Audit/Verify"}, call) {
			continue
		}
		status, answer := b.call(call, "{}")
		b.clean(call, answer)
		if status == http.StatusOK {
			read++
		}
	}
	if read < 20 {
		t.Errorf("only %d lists were read", read)
	}
	for _, of := range []string{`Repositories/Get {"name": "base"}`, `Services/Get {"ref": {"cluster": "edge-1", "name": "web"}}`, `Services/Config {"ref": {"cluster": "edge-1", "name": "web"}}`,
		`Contexts/Get {"name": "base"}`, `NotificationSinks/Get {"name": "hook"}`, `Services/ListRevisions {"ref": {"cluster": "edge-1", "name": "web"}}`} {
		call, request, _ := strings.Cut(of, " ")
		status, answer := b.call(call, request)
		if b.clean(of, answer); status != http.StatusOK {
			t.Errorf("%s: %d: %s", of, status, answer)
		}
	}
	b.clean("axle audit export", b.exits(0, "audit export"))
	b.clean("axle events", b.exits(0, "events"))
	file := filepath.Join(b.dir, "bundle.tar.gz")
	b.exits(0, "hub support-bundle --file "+file)
	for name, text := range bundled(t, file) {
		b.clean("the support bundle's "+name, text)
	}
	if err := b.hub.Stop(); err != nil {
		t.Error(err)
	}
	b.mu.Lock()
	b.clean("the log", b.log.String())
	b.mu.Unlock()
	databases, err := filepath.Glob(filepath.Join(b.hub.DataDir, "*.db*"))
	if err != nil || len(databases) == 0 {
		t.Errorf("no database in %s: %v", b.hub.DataDir, err)
	}
	for _, name := range databases {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		b.clean(filepath.Base(name), string(text))
	}
}
