package proxy_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/axle-cd/axle/agent/tunnel/authproxy"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/internal/eventually"
)

// start sends a request by hand and returns the connection with its answer.
func (b *bed) start11(t *testing.T, request string) (*tls.Conn, *bufio.Reader, *http.Response) {
	t.Helper()
	conn, err := tls.Dial("tcp", b.server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		t.Fatal(err)
	}
	return conn, reader, response
}

const webSocket = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Protocol: v5.channel.k8s.io"

func execPath(namespace, pod, command string) string {
	return "/api/v1/namespaces/" + namespace + "/pods/" + pod + "/exec?stdin=true&stdout=true&stderr=true&command=sh&command=-c&command=" + command
}

// TestRevokedTokenEndsStreams: a watch and a command end when the token they
// began with is gone.
func TestRevokedTokenEndsStreams(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "sleeper", "exec sleep 3600")
	head := " HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer " + adminToken + "\r\n"
	_, _, watch := b.start11(t, "GET /k8s/clusters/edge/api/v1/namespaces/"+namespace+"/pods?watch=true"+head+"\r\n")
	if watch.StatusCode != http.StatusOK {
		t.Fatal(watch.Status)
	}
	_, command, upgraded := b.start11(t, "GET /k8s/clusters/edge"+execPath(namespace, "sleeper", "cat")+head+webSocket+"\r\n\r\n")
	if upgraded.StatusCode != http.StatusSwitchingProtocols {
		t.Fatal(upgraded.Status)
	}
	b.people.revoke(adminToken)
	if _, err := io.ReadAll(watch.Body); err == nil {
		t.Error("the watch ended in order")
	}
	if _, err := io.Copy(io.Discard, command); err != nil && errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the command goes on: %v", err)
	}
	for _, verb := range []string{"watch", "exec"} {
		eventually.For(t, limit, "the record of the end of "+verb, func() error {
			got := b.records.where(func(r audit.Record) bool { return r.Verb == verb && r.Detail["stage"] == "end" })
			if len(got) != 1 || got[0].Result != "unauthorized" {
				return fmt.Errorf("records %+v", got)
			}
			return nil
		})
	}
}

// TestSlowClientIsCutOff: a client that does not read is disconnected, and another
// one continues.
func TestSlowClientIsCutOff(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{clock: hasty{}})
	namespace := b.kube.Namespace(t)
	path := b.servePod(t, namespace, "endless", func(w http.ResponseWriter, r *http.Request) {
		chunk := make([]byte, 64<<10)
		for r.Context().Err() == nil {
			if _, err := w.Write(chunk); err != nil {
				return
			}
		}
	})
	b.start11(t, "GET /k8s/clusters/edge"+path+" HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer "+adminToken+"\r\n\r\n")
	// Nobody reads; meanwhile another client is served.
	if response, _ := b.get(adminToken, "/version"); response.StatusCode != http.StatusOK {
		t.Error(response.Status)
	}
	eventually.For(t, limit, "the record of the slow client", func() error {
		got := b.records.where(func(r audit.Record) bool {
			return r.Name == "endless:"+portOf(path) && strings.Contains(r.Detail["error"], "read nothing")
		})
		if len(got) != 1 {
			return fmt.Errorf("%d records", len(got))
		}
		return nil
	})
}

func portOf(path string) string {
	_, port, _ := strings.Cut(path, ":")
	port, _, _ = strings.Cut(port, "/")
	return port
}

// TestCommandsNeedTheirRecord: what cannot be written down is not begun.
func TestCommandsNeedTheirRecord(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]bool{"closed": false, "open": true} {
		b := newBed(t, options{open: open})
		namespace := b.kube.Namespace(t)
		b.pod(namespace, "one", "exec sleep 3600")
		b.records.broken = true
		want := http.StatusServiceUnavailable
		if open {
			want = http.StatusSwitchingProtocols
		}
		_, _, response := b.start11(t, "GET /k8s/clusters/edge"+execPath(namespace, "one", "true")+" HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer "+adminToken+"\r\n"+webSocket+"\r\n\r\n")
		if response.StatusCode != want {
			t.Errorf("%s: %s, want %d", name, response.Status, want)
		}
	}
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "one", "exec sleep 3600")
	config := b.kubeconfig(adminToken)
	if out, err := b.kubectl(config, "-n", namespace, "exec", "one", "--", "echo", "hello").CombinedOutput(); err != nil {
		t.Fatalf("%v %s", err, out)
	}
	eventually.For(t, limit, "both records", func() error {
		got := b.records.where(func(r audit.Record) bool { return r.Verb == "exec" })
		if len(got) != 2 {
			return fmt.Errorf("%d records", len(got))
		}
		for i, stage := range []string{"start", "end"} {
			if r := got[i]; r.Detail["stage"] != stage || r.Detail["command"] != "echo hello" || r.Actor != "admin@example.com" || r.AsUser != r.Actor || r.TokenID != "tok_admin" ||
				r.Source != "127.0.0.1" || r.ClusterID != "cls_1" || r.Kind != "pods/exec" || r.Name != "one" || r.Namespace != namespace || r.Result != "ok" {
				t.Errorf("record %+v", r)
			}
		}
		if got[1].Detail["bytes_down"] == "0" || got[1].Status != 101 {
			t.Errorf("the end says %+v", got[1])
		}
		return nil
	})
}

// TestTickets: a ticket opens what it names, once.
func TestTickets(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	b.pod(namespace, "one", "exec sleep 3600")
	who, err := b.people.Authenticate(t.Context(), adminToken)
	if err != nil {
		t.Fatal(err)
	}
	ticket := func(who identity.Principal) string {
		text, _, err := b.proxy.Ticket(t.Context(), who, "edge", execPath(namespace, "one", "echo+from+the+pod"))
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	open := func(path string, headers ...string) (int, string) {
		lines := strings.Join(append([]string{"GET " + path + " HTTP/1.1", "Host: hub"}, headers...), "\r\n")
		_, reader, response := b.start11(t, lines+"\r\n\r\n")
		if response.StatusCode != http.StatusSwitchingProtocols {
			return response.StatusCode, readAll(response.Body)
		}
		text, _ := io.ReadAll(reader)
		return response.StatusCode, string(text)
	}
	good := ticket(who)
	if code, text := open("/ws/proxy?ticket="+good, webSocket, "Cookie: a=b", "Origin: https://hub"); code != 101 || !strings.Contains(text, "from the pod") {
		t.Fatalf("%d %q", code, text)
	}
	if code, text := open("/ws/proxy", strings.Replace(webSocket, "v5.channel", "axle.ticket."+ticket(who)+", v5.channel", 1)); code != 101 || !strings.Contains(text, "from the pod") {
		t.Errorf("as a subprotocol: %d %q", code, text)
	}
	revoked := who
	revoked.TokenID = "tok_gone"
	tests := map[string]struct {
		path    string
		headers []string
		want    int
	}{
		"used before":        {"/ws/proxy?ticket=" + good, []string{webSocket}, 401},
		"none":               {"/ws/proxy", []string{webSocket}, 401},
		"forged":             {"/ws/proxy?ticket=" + base64.RawURLEncoding.EncodeToString([]byte("k.AAAA")), []string{webSocket}, 401},
		"changed":            {"/ws/proxy?ticket=" + good[:len(good)-4] + "AAAA", []string{webSocket}, 401},
		"of a revoked token": {"/ws/proxy?ticket=" + ticket(revoked), []string{webSocket}, 401},
		"no WebSocket":       {"/ws/proxy?ticket=" + ticket(who), nil, 400},
		"another site":       {"/ws/proxy?ticket=" + ticket(who), []string{webSocket, "Origin: https://evil.example"}, 403},
		"a bearer instead":   {"/ws/proxy", []string{webSocket, "Authorization: Bearer " + adminToken}, 401},
	}
	for name, test := range tests {
		if code, text := open(test.path, test.headers...); code != test.want {
			t.Errorf("%s: %d %s, want %d", name, code, text, test.want)
		}
	}
	stranger, err := b.people.Authenticate(t.Context(), strangerToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := b.proxy.Ticket(t.Context(), stranger, "edge", "/version"); err == nil {
		t.Error("a stranger has a ticket")
	}
	if _, _, err := b.proxy.Ticket(t.Context(), who, "edge", "/api/../x"); err == nil {
		t.Error("a ticket for a path that cleans to another")
	}
}

// TestAgentPolicyCannotBeWidened: an agent's own policy applies, whoever asks.
func TestAgentPolicyCannotBeWidened(t *testing.T) {
	t.Parallel()
	const secrets, pods = "/api/v1/namespaces/kube-system/secrets", "/api/v1/pods"
	tests := map[string]struct {
		policy      authproxy.Policy
		token       string
		method, uri string
		want        int
	}{
		"off":                          {authproxy.Policy{Mode: authproxy.Off}, adminToken, "GET", "/version", 403},
		"read reads":                   {authproxy.Policy{Mode: authproxy.Read}, adminToken, "GET", secrets, 200},
		"read does not write":          {authproxy.Policy{Mode: authproxy.Read}, adminToken, "DELETE", secrets + "/x", 403},
		"read does not exec":           {authproxy.Policy{Mode: authproxy.Read}, adminToken, "GET", "/api/v1/namespaces/a/pods/b/exec", 403},
		"a verb":                       {authproxy.Policy{Verbs: []string{"get"}}, adminToken, "GET", secrets, 403},
		"its own verb":                 {authproxy.Policy{Verbs: []string{"list"}}, adminToken, "GET", secrets, 200},
		"a namespace":                  {authproxy.Policy{Namespaces: []string{"default"}}, adminToken, "GET", secrets, 403},
		"all namespaces":               {authproxy.Policy{Namespaces: []string{"default"}}, adminToken, "GET", pods, 403},
		"its own namespace":            {authproxy.Policy{Namespaces: []string{"kube-system"}}, adminToken, "GET", secrets, 200},
		"what is served":               {authproxy.Policy{Namespaces: []string{"default"}}, adminToken, "GET", "/apis", 200},
		"an API group":                 {authproxy.Policy{APIGroups: []string{"apps"}}, adminToken, "GET", secrets, 403},
		"its own API group":            {authproxy.Policy{APIGroups: []string{"core"}}, adminToken, "GET", secrets, 200},
		"a group of people":            {authproxy.Policy{Groups: []string{"ops"}}, aliceToken, "GET", "/version", 403},
		"its own group":                {authproxy.Policy{Groups: []string{"dev"}}, aliceToken, "GET", "/version", 200},
		"a group of others' is no aid": {authproxy.Policy{Groups: []string{"dev"}}, adminToken, "GET", secrets, 403},
	}
	for name, test := range tests {
		b := newBed(t, options{policy: test.policy})
		request, err := http.NewRequestWithContext(t.Context(), test.method, b.url()+test.uri, nil)
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Authorization", "Bearer "+test.token)
		response, err := b.httpClient().Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if text := readAll(response.Body); response.StatusCode != test.want {
			t.Errorf("%s: %s %s, want %d", name, response.Status, text, test.want)
		}
		response.Body.Close()
	}
	b := newBed(t, options{policy: authproxy.Policy{Prefix: "axle:"}})
	if _, body := b.get(aliceToken, secrets); !strings.Contains(body, `User \"axle:alice@example.com\"`) {
		t.Errorf("with a prefix: %s", body)
	}
	if err := (authproxy.Policy{Verbs: []string{"gett"}}).Check(); err == nil {
		t.Error("a verb that is none was taken")
	}
}

// TestAgentRefusesHeadsThatAHubMustNotSend: the last hop trusts nobody.
func TestAgentRefusesHeadsThatAHubMustNotSend(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	agent, err := authproxy.New(authproxy.Config{Rest: b.kube.Config()})
	if err != nil {
		t.Fatal(err)
	}
	alice := &agentv1.StreamIdentity{User: "alice@example.com"}
	get := func(uri string, who *agentv1.StreamIdentity, headers ...*agentv1.StreamHeader) *agentv1.StreamHead {
		return &agentv1.StreamHead{Method: "GET", RequestUri: uri, Identity: who, Headers: headers}
	}
	const secrets = "/api/v1/namespaces/kube-system/secrets"
	tests := map[string]struct {
		head *agentv1.StreamHead
		want int32
	}{
		"no identity":        {get("/version", nil), 400},
		"no user":            {get("/version", &agentv1.StreamIdentity{Groups: []string{"dev"}}), 400},
		"a system user":      {get(secrets, &agentv1.StreamIdentity{User: "system:admin"}), 400},
		"a system group":     {get(secrets, &agentv1.StreamIdentity{User: "x", Groups: []string{"system:masters"}}), 400},
		"in capitals":        {get(secrets, &agentv1.StreamIdentity{User: "System:admin"}), 400},
		"dots":               {get("/api/../version", alice), 400},
		"a header's line":    {get(secrets, &agentv1.StreamIdentity{User: "x\r\nImpersonate-Group: system:masters"}), 400},
		"an unknown upgrade": {&agentv1.StreamHead{Method: "GET", RequestUri: secrets, Identity: alice, Upgrade: "h2c"}, 400},
		"a method's line":    {&agentv1.StreamHead{Method: "GET / HTTP/1.1\r\nX: y", RequestUri: secrets, Identity: alice}, 400},
		"its own credentials": {get(secrets, alice, &agentv1.StreamHeader{Name: "authorization", Values: []string{"Bearer x"}},
			&agentv1.StreamHeader{Name: "impersonate-user", Values: []string{"root"}}, &agentv1.StreamHeader{Name: "Connection", Values: []string{"Impersonate-User"}},
			&agentv1.StreamHeader{Name: "impersonate-group", Values: []string{"system:masters"}}), 403},
	}
	for name, test := range tests {
		s := newPair(t.Context(), test.head, func(ctx context.Context, s agentEnd) { agent.Serve(ctx, s) })
		if err := s.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		answer, err := s.Answer(t.Context())
		if err != nil || answer.GetStatus() != test.want {
			t.Errorf("%s: %v, %v; want %d", name, answer, err, test.want)
		}
		s.Close()
	}
}

// TestInformersAndLargeLists: client-go as controllers use it, during a list and an
// upload of many megabytes.
func TestInformersAndLargeLists(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	api := b.client(b.rest(adminToken))
	content := strings.Repeat("x", 900<<10)
	const count = 58
	version := ""
	for i := range count {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("large-%d", i)}, Data: map[string]string{"a": content}}
		made, err := api.CoreV1().ConfigMaps(namespace).Create(t.Context(), object, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		version = made.ResourceVersion
	}
	if n := b.sameList(t, "/api/v1/namespaces/"+namespace+"/configmaps?resourceVersionMatch=Exact&resourceVersion="+version); n < 50<<20 {
		t.Errorf("the list has only %d bytes", n)
	}
	factory := informers.NewSharedInformerFactoryWithOptions(api, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().ConfigMaps()
	var gone atomic.Int64
	if _, err := informer.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{DeleteFunc: func(any) { gone.Add(1) }}); err != nil {
		t.Fatal(err)
	}
	factory.Start(t.Context().Done())
	factory.WaitForCacheSync(t.Context().Done())
	all, err := informer.Lister().ConfigMaps(namespace).List(labels.Everything())
	if err != nil || len(all) < count {
		t.Fatalf("%d objects, %v", len(all), err)
	}
	for _, o := range all {
		if strings.HasPrefix(o.Name, "large-") && o.Data["a"] != content {
			t.Errorf("%s has %d bytes", o.Name, len(o.Data["a"]))
		}
	}
	if err := api.CoreV1().ConfigMaps(namespace).Delete(t.Context(), "large-3", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually.For(t, limit, "the event", func() error {
		if gone.Load() != 1 {
			return fmt.Errorf("%d deletions were seen", gone.Load())
		}
		return nil
	})
}

// TestCutsAreSeen: if an answer is cut in the middle, the client notices that it is
// incomplete.
func TestCutsAreSeen(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	began, reached, cut := make(chan struct{}), make(chan struct{}), make(chan struct{})
	path := b.servePod(t, namespace, "half", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			_, err := io.ReadFull(r.Body, make([]byte, 1))
			close(reached)
			if err == nil {
				_, err = io.Copy(io.Discard, r.Body)
			}
			if err == nil {
				t.Error("half an upload came as a whole one")
			}
			close(cut)
			return
		}
		_, _ = io.WriteString(w, "half")
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, b.url()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+adminToken)
	response, err := b.httpClient().Do(request)
	if err == nil {
		_, err = io.ReadAll(response.Body)
		response.Body.Close()
	}
	if err == nil {
		t.Error("half an answer came as a whole one")
	}
	ctx, cancel := context.WithCancel(t.Context())
	body := io.MultiReader(strings.NewReader(strings.Repeat("x", 1<<20)), readerFunc(func([]byte) (int, error) {
		select {
		case <-began:
		default:
			close(began)
		}
		<-ctx.Done()
		return 0, ctx.Err()
	}))
	go func() {
		<-began
		<-reached
		cancel()
	}()
	upload, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url()+path, body)
	if err != nil {
		t.Fatal(err)
	}
	upload.Header.Set("Authorization", "Bearer "+adminToken)
	if response, err := b.httpClient().Do(upload); err == nil {
		response.Body.Close()
	}
	select {
	case <-cut:
	case <-time.After(limit):
		t.Error("the upload's end was never seen")
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// FuzzTickets: no text but the hub's own opens anything.
func FuzzTickets(f *testing.F) {
	f.Add("")
	f.Add("axle_k8s_")
	f.Add(base64.RawURLEncoding.EncodeToString([]byte(`{"t":"tok_admin","c":"cls_1","u":9999999999999999}`)))
	f.Fuzz(func(t *testing.T, text string) {
		p := bareProxy(t)
		request, err := http.NewRequest(http.MethodGet, "/ws/proxy", nil)
		if err != nil {
			t.Fatal(err)
		}
		request.RequestURI, request.URL.RawQuery = "/ws/proxy", "ticket="+strings.NewReplacer("%", "", "&", "").Replace(text)
		request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {"websocket"}}
		w := newRecorder()
		p.ServeHTTP(w, request)
		if w.code < 400 {
			t.Errorf("%q opened something: %d", text, w.code)
		}
	})
}
