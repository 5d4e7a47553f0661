package hub_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/tunnel"
	"github.com/axle-cd/axle/hub/webhook"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/pool"
	"github.com/axle-cd/axle/internal/tarball"
)

// provoked are the pools whose refusal another test sees as a client does, by the folder and
// the name of the test.
var provoked = map[string]string{
	"cluster_requests": "test/proxy TestRequestsAboveTheShareNameTheirPool", "replica_requests": "test/proxy TestRequestsAboveTheShareNameTheirPool",
	"login_tries": "hub/login TestTriesOfOneSourceAreBounded", "login_guesses": "hub/login TestGuessesFromElsewhereDoNotLockTheOwner",
	"signin_wrong": "hub/oidc TestWrongCodesAreCounted", "signin_browsers": "hub/oidc TestSharesOfSignInsAreNamed", "signin_requests": "hub/oidc TestSharesOfSignInsAreNamed", "signin_clients": "hub/oidc TestSharesOfSignInsAreNamed", "signin_devices": "hub/oidc TestSharesOfSignInsAreNamed",
	"login_codes": "hub/login TestCodesOfTerminalsAreNotGuessed", "login_logouts": "hub/login TestWrongLogoutTokensAreCounted",
}

// unanswered are the pools without an answer of HTTP that has a refusal at once, and why.
var unanswered = map[string]string{
	"strangers_heads": "the connection ends", "strangers_records": "a record is left out",
	"passwords": "a page, after ten seconds", "strangers_passwords": "a page, after ten seconds", "object_trees": "an answer after half a minute",
	"telemetry_questions": "an answer after ten seconds", "namespace_looks": "an answer after ten seconds", "telemetry_tails": "a tail of a store of logs",
	"notifications": "messages wait", "upstream_requests": "fetches wait", "host_requests": "fetches wait", "first_copies": "fetches wait",
	"host_first_copies": "fetches wait", "object_readers": "fetches wait", "repository_openings": "repositories wait", "mirror_seeds": "copies wait", "mirror_copies": "copies wait",
	"variants": "an agent takes the whole tarball", "hints": "hints wait",
}

// refusal is how a test provokes a refusal of a pool.
type refusal struct {
	// filled pools are full before; of the others so many requests use up the share. The
	// share of strangers at this address is used up before each, where here is set.
	filled, here bool
	times        int
	path         string
	body         string
	token        string
	// head is added to the request's head, so many bytes, probe makes it the test of a
	// WebSocket, and stream is set for a call whose answer is a stream.
	head          int
	probe, stream bool
	// client sends it; nil for the usual one.
	client *http.Client
}

// TestRefusalsNameTheirPool provokes a refusal of each pool as a client of that kind sees it:
// an agent, a sender of webhooks, a person's tools, a stranger. Each is a 429 whose text names
// the pool, the share and the time to wait, with Retry-After.
func TestRefusalsNameTheirPool(t *testing.T) {
	h := pooled(t)
	b := &refusalBed{t: t, Hub: h}
	rows := b.rows()
	h.Pools().Each(func(name string, one any) {
		row, ok := rows[name]
		if where, elsewhere := provoked[name]; elsewhere {
			isATest(t, where)
			return
		}
		if _, silent := unanswered[name]; silent {
			return
		}
		if !ok {
			t.Errorf("no request provokes a refusal of the pool %s", name)
			return
		}
		if row.filled {
			if !row.stream {
				_ = b.send(row) // what is looked up once is known then
			}
			defer fillUp(t, one)()
		}
		var answer refused429
		for range max(row.times, 1) {
			if rates, ok := one.(*pool.Rates); ok && row.here {
				for rates.Take(pool.Stranger("127.0.0.1:1")) == nil {
				}
			}
			if answer = b.send(row); answer.status == http.StatusTooManyRequests {
				break
			}
		}
		seconds, err := strconv.Atoi(answer.after)
		if answer.status != http.StatusTooManyRequests || err != nil || seconds < 1 || !strings.Contains(answer.text, "(pool "+name+")") || !strings.Contains(answer.text, "share") || !strings.Contains(answer.text, fmt.Sprintf("try again in %d s", seconds)) {
			t.Errorf("%s: %d, Retry-After %q, %.300s", name, answer.status, answer.after, answer.text)
		}
		var shape struct {
			Code                     any
			Message, Outcome, Reason string
		}
		if err := json.Unmarshal([]byte(answer.text), &shape); err != nil || shape.Message == "" || shape.Code != "resource_exhausted" && shape.Code != "exhausted" && shape.Outcome != "refused" && shape.Reason != "TooManyRequests" {
			t.Errorf("%s: the answer has not the form of its protocol: %v, %.300s", name, err, answer.text)
		}
	})
}

// TestATenantsUnfinishedCallsLeaveRoom holds that somebody who begins a thousand calls and
// ends none has a half of the places, and that others are answered meanwhile.
func TestATenantsUnfinishedCallsLeaveRoom(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	b := &refusalBed{t: t, Hub: h}
	token := func(name string) string {
		return b.admin("Users/Create", fmt.Sprintf(`{"email": "%s@example.com", "tokenScopes": ["admin"]}`, name))["token"].(string)
	}
	list := refusal{path: "/axle.hub.v1.Sessions/WhoAmI", body: "{}", token: token("tenant")}
	for range 1000 {
		begin(t, h, list.path, 100, "Authorization: Bearer "+list.token+"\r\n")
	}
	eventually.For(t, time.Minute, "a half of the places is taken", func() (err error) {
		h.Pools().Each(func(name string, one any) {
			if p, ok := one.(*pool.Places); ok && name == "calls" && p.Used() != 900 {
				err = fmt.Errorf("%d places", p.Used())
			}
		})
		return err
	})
	if answer := b.send(list); answer.status != http.StatusTooManyRequests || !strings.Contains(answer.text, "your share of the 2000 places for calls at once is 900 now") {
		t.Errorf("the tenant: %d %s", answer.status, answer.text)
	}
	for who, bearer := range map[string]string{"somebody else": token("other"), "an administrator": b.AdminToken} {
		if answer := b.send(refusal{path: list.path, body: "{}", token: bearer}); answer.status != http.StatusOK {
			t.Errorf("%s: %d %s", who, answer.status, answer.text)
		}
	}
}

// TestNumbersOfAProjectHoldOverTheAPI holds that a project has no more clusters, services and
// open previews than its limits say, as a caller of the API sees it, and that another project
// without limits has.
func TestNumbersOfAProjectHoldOverTheAPI(t *testing.T) {
	b := &refusalBed{t: t, Hub: hubtest.New(t, hubtest.Config{})}
	b.admin("Projects/Create", `{"name": "shop", "limits": {"clusters": 1, "services": 1, "previews": 1}}`)
	b.admin("Projects/Create", `{"name": "free"}`)
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "cm.yaml"), []byte("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var files bytes.Buffer
	if _, _, err := tarball.Write(&files, tarball.Folder(t.Context(), folder), tarball.Options{}); err != nil {
		t.Fatal(err)
	}
	for _, project := range []string{"shop", "free"} {
		b.admin("Repositories/Create", fmt.Sprintf(`{"name": "repo-%s", "project": %q, "url": "https://127.0.0.1:1/x"}`, project, project))
		create := func(n int) [3]refusal {
			name := fmt.Sprintf("%s-%d", project, n)
			return [3]refusal{
				{path: "Clusters/Create", body: fmt.Sprintf(`{"name": %q, "project": %q}`, name, project)},
				{path: "Services/Create", body: strings.TrimSuffix(service(project+"-1", name, "repo-"+project), "}") + fmt.Sprintf(`, "project": %q}`, project)},
				{path: "Services/Preview", body: fmt.Sprintf(`{"ref": {"cluster": "%[1]s-1", "name": "%[1]s-1"}, "files": %[2]q}`, project, base64.StdEncoding.EncodeToString(files.Bytes()))},
			}
		}
		for _, first := range create(1) {
			b.admin(first.path, first.body)
		}
		for _, second := range create(2) {
			answer := b.send(refusal{path: "/axle.hub.v1." + second.path, body: second.body, token: b.AdminToken})
			if full := answer.status == http.StatusForbidden && strings.Contains(answer.text, "its limit is 1"); full != (project == "shop") {
				t.Errorf("%s: a second one of %s: %d %.300s", second.path, project, answer.status, answer.text)
			}
		}
	}
}

type refusalBed struct {
	t *testing.T
	*hubtest.Hub
}

func (b *refusalBed) rows() map[string]refusal {
	hooks := gitcache.Webhooks{WebhookStore: b.Parts().Store}
	hook, _, err := hooks.Create(b.t.Context(), gitcache.Webhook{Name: "other", Provider: gitcache.Generic}, "")
	if err != nil {
		b.t.Fatal(err)
	}
	bootstrap := b.admin("Clusters/Create", `{"name": "edge-1"}`)["bootstrapToken"].(string)
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		b.t.Fatal(err)
	}
	agent, err := b.Parts().AgentKeys.Register(b.t.Context(), bootstrap, agentkey.Registration{
		PublicKey: public, ClusterUID: "uid", BootID: "boot-1", AgentVersion: "v0", Proof: ed25519.Sign(private, []byte("axle-register\nuid\nboot-1")),
	})
	if err != nil {
		b.t.Fatal(err)
	}
	another := b.admin("Clusters/Create", `{"name": "edge-2"}`)["bootstrapToken"].(string)
	const register, exchange = "/axle.agent.v1.AgentService/Register", "/axle.hub.v1.Federation/Exchange"
	return map[string]refusal{
		"agent_calls":             {filled: true, path: "/agent/v1/desired", token: agent.DeployToken},
		"large_heads":             {filled: true, path: "/k8s/clusters/edge-1/api", token: b.AdminToken, head: 20 << 10},
		"calls":                   {filled: true, path: "/axle.hub.v1.Projects/List", body: "{}", token: b.AdminToken},
		"list_streams":            {filled: true, path: "/axle.hub.v1.Fleet/Watch", body: "{}", token: b.AdminToken, stream: true},
		"logs":                    {filled: true, path: "/axle.hub.v1.ClusterAPI/ReadLogs", body: `{"cluster": "edge-1", "namespace": "n", "pod": "p", "container": "c"}`, token: b.AdminToken, stream: true},
		"tunnel_dials":            {times: 200, path: tunnel.Path, token: agent.DeployToken},
		"registrations":           {times: 2000, path: register, body: "{}", token: another},
		"enrolments":              {times: 1000, path: "/axle.agent.v1.AgentService/EnrollChild", body: `{"bootId": "boot-1", "serviceId": "svc_none"}`, token: agent.DeployToken},
		"strangers_registrations": {times: 100, here: true, path: register, body: "{}", token: "axle_bootstrap_none"},
		"deliveries":              {filled: true, path: webhook.Path(hook), body: "{}"},
		"large_deliveries":        {filled: true, path: webhook.Path(hook), body: strings.Repeat(" ", 200<<10)},
		"strangers_bodies":        {filled: true, path: "/axle.hub.v1.Logins/StartDevice", body: `{"client": "x"}`},
		"strangers_exchanges":     {times: 100, here: true, path: exchange, body: `{"subject_token": "x"}`},
		"tunnel_probes":           {filled: true, path: tunnel.Path, probe: true},
		"list_rows":               {filled: true, path: "/axle.hub.v1.Fleet/Watch", body: `{"topics": {"clusterList": {}}}`, token: b.AdminToken, stream: true},
		"absent_tokens":           {times: 100, path: "/k8s/clusters/edge-1/api", token: b.revoked()},
		"strangers_token_reviews": {filled: true, path: exchange, body: operatorsToken("nobody"), client: from("127.0.7.1")},
		"operator_token_reviews":  {filled: true, path: exchange, body: operatorsToken("operator"), client: from("127.0.7.1")},
		"strangers_tokens":        {times: 100, here: true, path: "/axle.hub.v1.Projects/List", body: "{}", token: "axle_nobody_knows_it"},
	}
}

// revoked returns the credential of a cluster that somebody got with a token that is deleted
// since: the hub asks its database about that token.
func (b *refusalBed) revoked() string {
	made := b.admin("Tokens/Create", `{"name": "short", "scopes": ["admin"]}`)
	answer := b.send(refusal{path: "/axle.hub.v1.ClusterAPI/CreateCredential", body: `{"cluster": "edge-1"}`, token: made["secret"].(string)})
	var credential struct{ Token string }
	if err := json.Unmarshal([]byte(answer.text), &credential); err != nil || credential.Token == "" {
		b.t.Fatalf("a credential: %d %s", answer.status, answer.text)
	}
	b.admin("Tokens/Revoke", fmt.Sprintf(`{"id": %q}`, made["token"].(map[string]any)["id"]))
	return credential.Token
}

// operatorsToken is a token that names the operator's account, for the cluster of pooled,
// which accepts those of "operator".
func operatorsToken(signed string) string {
	part := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	return fmt.Sprintf(`{"subject_token": "%s.%s.%s"}`, part(`{"alg":"RS256"}`), part(`{"iss":"https://cluster.example.com","sub":"system:serviceaccount:axle:operator","aud":"hub","exp":4102444800}`), part(signed))
}

// from is a client with an address of its own.
func from(address string) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, DisableKeepAlives: true}}
}

// admin calls the hub as its administrator.
func (b *refusalBed) admin(procedure, body string) (out map[string]any) {
	b.t.Helper()
	answer := b.send(refusal{path: "/axle.hub.v1." + procedure, body: body, token: b.AdminToken})
	if err := json.Unmarshal([]byte(answer.text), &out); err != nil || answer.status != http.StatusOK {
		b.t.Fatalf("%s: %d %s", procedure, answer.status, answer.text)
	}
	return out
}

type refused429 struct {
	status      int
	after, text string
}

func (b *refusalBed) send(row refusal) refused429 {
	b.t.Helper()
	method := http.MethodGet
	if row.body != "" {
		method = http.MethodPost
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, b.URL+row.path, strings.NewReader(row.body))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	// Of a delivery without the form of a signature nothing is read.
	r.Header.Set("X-Axle-Signature", "sha256=00")
	if row.probe {
		r.Header.Set("Axle-Tunnel", "probe")
	}
	if row.head > 0 {
		r.Header.Set("Extra", strings.Repeat("x", row.head))
	}
	if row.stream {
		var length [5]byte
		binary.BigEndian.PutUint32(length[1:], uint32(len(row.body)))
		r.Header.Set("Content-Type", "application/connect+json")
		r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(length[:])+row.body)), int64(len(row.body))+5
	}
	if row.token != "" {
		r.Header.Set("Authorization", "Bearer "+row.token)
	}
	answer, err := cmp.Or(row.client, http.DefaultClient).Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer answer.Body.Close()
	if row.stream && answer.Header.Get("Content-Type") == "application/connect+json" {
		return b.endOf(answer)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return refused429{answer.StatusCode, answer.Header.Get("Retry-After"), string(text)}
}

// endOf reads a stream up to its first message, and returns that if it is the error.
func (b *refusalBed) endOf(answer *http.Response) refused429 {
	b.t.Helper()
	var head [5]byte
	if _, err := io.ReadFull(answer.Body, head[:]); err != nil {
		b.t.Fatal(err)
	}
	text := make([]byte, binary.BigEndian.Uint32(head[1:]))
	if _, err := io.ReadFull(answer.Body, text); err != nil {
		b.t.Fatal(err)
	}
	var end struct {
		Error    json.RawMessage
		Metadata http.Header
	}
	if head[0]&2 == 0 || json.Unmarshal(text, &end) != nil || !strings.Contains(string(end.Error), `"resource_exhausted"`) {
		return refused429{answer.StatusCode, "", string(text)}
	}
	for name, values := range end.Metadata {
		if strings.EqualFold(name, "Retry-After") {
			return refused429{http.StatusTooManyRequests, values[0], string(end.Error)}
		}
	}
	return refused429{http.StatusTooManyRequests, "", string(end.Error)}
}

// fillUp takes every place of a pool, and every one of those who may wait for one. It
// returns a function that gives all back.
func fillUp(t *testing.T, one any) func() {
	t.Helper()
	p, ok := one.(*pool.Places)
	if !ok {
		t.Fatalf("%T has no places", one)
	}
	var held []*pool.Held
	for n := 0; ; n++ {
		h, err := p.TakeMany(pool.Caller{Name: fmt.Sprint("caller ", n), Reserved: true}, max(1, p.Size()/1000))
		if err != nil {
			break
		}
		held = append(held, h)
	}
	ctx, cancel := context.WithCancel(t.Context())
	gone, leave := context.WithCancel(ctx)
	leave()
	var waiting sync.WaitGroup
	eventually.For(t, time.Minute, "as many wait as may", func() error {
		for n := range 200 {
			waiting.Go(func() { _, _ = p.Wait(ctx, pool.Caller{Name: fmt.Sprint("waiter ", n), Reserved: true}) })
		}
		if _, err := p.Wait(gone, pool.Caller{Name: "late"}); !errcode.Is(err, errcode.Exhausted) {
			return fmt.Errorf("somebody may wait still: %w", err)
		}
		return nil
	})
	return func() {
		cancel()
		waiting.Wait()
		for _, h := range held {
			h.Leave()
		}
	}
}

// TestLimitsThatAreNoPoolsNameAWayOut holds that each other refusal with this code, of a
// number that is reached or of a text that is too long, names what to do: no time makes room.
func TestLimitsThatAreNoPoolsNameAWayOut(t *testing.T) {
	refusal := regexp.MustCompile(`errcode\.New\(errcode\.Exhausted,\s*("(?:[^"\\]|\\.)*")`)
	found := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range refusal.FindAllSubmatch(text, -1) {
			found++
			if !bytes.Contains(m[1], []byte("; ")) {
				t.Errorf("%s: %s does not name what to do", path, m[1])
			}
		}
		return err
	})
	if err != nil || found < 10 {
		t.Errorf("%d refusals, %v", found, err)
	}
}

// TestReportsOfPoolsNameTests holds that each report from the field has a test that exists.
func TestReportsOfPoolsNameTests(t *testing.T) {
	page, err := os.ReadFile("../test/field/pools/README.md")
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`([a-z/]+ Test[A-Za-z]+)`").FindAllSubmatch(page, -1)
	if len(named) < 10 {
		t.Errorf("%d reports have a test", len(named))
	}
	for _, one := range named {
		isATest(t, string(one[1]))
	}
}

// isATest fails unless a folder has a test.
func isATest(t *testing.T, where string) {
	t.Helper()
	folder, name, _ := strings.Cut(where, " ")
	files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v", folder, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "func "+name+"(") {
			return
		}
	}
	t.Errorf("%s has no test %s", folder, name)
}
