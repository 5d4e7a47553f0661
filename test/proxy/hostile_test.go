package proxy_test

import (
	"bufio"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/axle-cd/axle/hub/event/audit"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/test/kube"
)

// raw sends bytes over TLS as they are and returns the first answer.
func (b *bed) raw(t *testing.T, request string) (status int, body string) {
	t.Helper()
	conn, err := tls.Dial("tcp", b.server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	return response.StatusCode, readAll(response.Body)
}

// TestConnectionHeaderCannotStripIdentity sends what a user would send who wants to
// be somebody else. What counts is the user that the API server saw.
func TestConnectionHeaderCannotStripIdentity(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	// A request of alice for a path that the audit log finds again.
	get := func(path string, headers ...string) string {
		return "GET /k8s/clusters/edge" + path + " HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer " + aliceToken + "\r\n" + strings.Join(append(headers, "", ""), "\r\n")
	}
	const seen = "/api/v1/namespaces/MARK/configmaps"
	tests := map[string]struct {
		request string
		// refused requests must not reach the API server at all; the others must
		// reach it as alice.
		refused bool
	}{
		"nothing special":                     {get(seen), false},
		"Connection names Impersonate-User":   {get(seen, "Connection: Impersonate-User"), true},
		"Connection names it beside another":  {get(seen, "Connection: keep-alive, Impersonate-User, Impersonate-Group"), true},
		"Connection names it in odd case":     {get(seen, "connection: iMpErSoNaTe-uSeR"), true},
		"Connection twice":                    {get(seen, "Connection: keep-alive", "Connection: Impersonate-User"), true},
		"Connection names Authorization":      {get(seen, "Connection: Authorization"), true},
		"Connection names Audit-Id":           {get(seen, "Connection: close, Audit-Id"), true},
		"Connection with a tab":               {get(seen, "Connection: \tImpersonate-User\t"), true},
		"Impersonate-User":                    {get(seen, "Impersonate-User: root"), true},
		"Impersonate-User empty":              {get(seen, "Impersonate-User:"), true},
		"Impersonate-User with underscores":   {get(seen, "Impersonate_User: root"), true},
		"Impersonate-Group system:masters":    {get(seen, "Impersonate-Group: system:masters"), true},
		"Impersonate-Uid":                     {get(seen, "Impersonate-Uid: 0"), true},
		"Impersonate-Extra":                   {get(seen, "Impersonate-Extra-scopes: all"), true},
		"X-Remote-User":                       {get(seen, "X-Remote-User: root", "X-Remote-Group: system:masters"), false},
		"X-Remote with underscores":           {get(seen, "X_Remote_User: root", "X_Remote_Group: system:masters"), false},
		"X-Remote-Extra":                      {get(seen, "X-Remote-Extra-scopes: all"), false},
		"a second Authorization":              {get(seen, "Authorization: Bearer "+adminToken), true},
		"a cookie of the administrator":       {get(seen, "Cookie: axle="+adminToken), false},
		"only a cookie":                       {"GET /k8s/clusters/edge" + seen + " HTTP/1.1\r\nHost: hub\r\nCookie: axle=" + adminToken + "\r\n\r\n", true},
		"Basic":                               {"GET /k8s/clusters/edge" + seen + " HTTP/1.1\r\nHost: hub\r\nAuthorization: Basic YWRtaW46YWRtaW4=\r\n\r\n", true},
		"Proxy-Authorization":                 {get(seen, "Proxy-Authorization: Bearer "+b.kube.Config().BearerToken), false},
		"the API server's token by WebSocket": {get(seen, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==", "Sec-WebSocket-Protocol: base64url.bearer.authorization.k8s.io.YWJj, v4.channel.k8s.io"), true},
		"a header line folded":                {get(seen, "X-A: b\r\n Impersonate-User: root"), false},
		"a line feed alone":                   {get(seen, "X-A: b\nImpersonate-User: root"), true},
		"a space before the colon":            {get(seen, "Impersonate-User : root"), true},
		"up and out":                          {get("/../../../api/v1/namespaces/MARK/configmaps"), true},
		"up and out, escaped":                 {get("/%2e%2e/edge" + seen), true},
		"an escaped slash":                    {get("/api%2Fv1/namespaces/MARK/configmaps"), true},
		"two slashes":                         {get("//api/v1/namespaces/MARK/configmaps"), true},
		"NUL":                                 {get("/api/v1/namespaces/MARK%00/configmaps"), true},
		"escaped twice":                       {get("/api/v1/namespaces/MARK/%252e%252e/configmaps"), true},
		"a whole URL":                         {strings.Replace(get(seen), "GET /k8s", "GET https://hub/k8s", 1), true},
		"another host in a whole URL":         {strings.Replace(get(seen), "GET /k8s", "GET http://169.254.169.254/k8s", 1), true},
		"CONNECT":                             {strings.Replace(get(seen), "GET", "CONNECT", 1), true},
		"TRACE":                               {strings.Replace(get(seen), "GET", "TRACE", 1), true},
		"an upgrade to h2c":                   {get(seen, "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAAQAAP__"), true},
		"an upgrade to h2c, quietly":          {get(seen, "Connection: Upgrade", "Upgrade: h2c"), true},
		"two upgrades":                        {get(seen, "Connection: Upgrade", "Upgrade: websocket", "Upgrade: SPDY/3.1"), true},
		"an upgrade that Connection lacks":    {get(seen, "Upgrade: websocket"), true},
		"an upgrade with a body":              {get(seen, "Connection: Upgrade", "Upgrade: websocket", "Content-Length: 3") + "abc", true},
		"both lengths":                        {get(seen, "Content-Length: 30", "Transfer-Encoding: chunked") + "0\r\n\r\n" + "GET /k8s/clusters/edge/api/v1/namespaces/SECOND/configmaps HTTP/1.1\r\nHost: hub\r\n\r\n", false},
		"a second request behind an upgrade":  {get(seen, "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==") + "GET /api/v1/namespaces/SECOND/configmaps HTTP/1.1\r\nHost: h\r\nImpersonate-User: root\r\n\r\n", false},
		"an Audit-Id of the client's":         {get(seen, "Audit-Id: forged"), false},
		"a trailer":                           {strings.Replace(get(seen, "Transfer-Encoding: chunked", "Trailer: Impersonate-User"), "GET", "PUT", 1) + "0\r\nImpersonate-User: root\r\n\r\n", false},
	}
	if len(tests) < 30 {
		t.Fatalf("only %d hostile requests", len(tests))
	}
	number := 0
	for name, test := range tests {
		number++
		mark := fmt.Sprintf("hostile-%d", number)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, err := b.kube.AuditMark()
			if err != nil {
				t.Fatal(err)
			}
			status, body := b.raw(t, strings.ReplaceAll(strings.ReplaceAll(test.request, "MARK", mark), "SECOND", mark+"-second"))
			if test.refused && (status < 400 || status > 499) {
				t.Errorf("answered with %d, want a refusal: %s", status, body)
			}
			b.judge(t, before, mark, test.refused)
		})
	}
}

// judge looks at whom the API server saw in requests that hold the mark. The
// agent itself is a cluster's administrator, so whatever came as itself, or as
// anybody but alice, got through in another's name.
func (b *bed) judge(t *testing.T, since int64, mark string, refused bool) {
	t.Helper()
	// What comes through is in the log once a later request is.
	sentinel := mark + "-sentinel"
	if _, body := b.get(aliceToken, "/api/v1/namespaces/"+sentinel+"/configmaps"); !strings.Contains(body, "alice@example.com") {
		t.Fatalf("the sentinel's answer is not about alice: %s", body)
	}
	var all kube.AuditEvents
	eventually.For(t, limit, "the sentinel in the audit log", func() (err error) {
		if all, err = b.kube.AuditSince(since); err != nil {
			return err
		}
		if !slices.ContainsFunc(all, func(e kube.AuditEvent) bool { return strings.Contains(e.URI, sentinel+"/") }) {
			return fmt.Errorf("not there yet")
		}
		return nil
	})
	came := 0
	for _, e := range all {
		if !strings.Contains(e.URI, mark+"/") && !strings.Contains(e.URI, mark+"%") && !strings.Contains(e.URI, mark+"-second") {
			continue
		}
		came++
		if e.As.Name != "alice@example.com" || !slices.Equal(e.As.Groups, []string{"dev", "axle:cluster:read", "system:authenticated"}) {
			t.Errorf("the API server saw %q of %q as %q of %q: %s", e.User.Name, e.User.Groups, e.As.Name, e.As.Groups, e.URI)
		}
		if strings.Contains(e.URI, "-second") {
			t.Errorf("a second request came through: %s", e.URI)
		}
	}
	if refused && came > 0 {
		t.Errorf("a refused request reached the API server %d times", came)
	}
	if !refused && came == 0 {
		t.Error("the request never reached the API server")
	}
}

// TestUpgradeOverHTTP2IsRefused speaks HTTP/2 by hand, as no client would.
func TestUpgradeOverHTTP2IsRefused(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	conn, err := tls.Dial("tcp", b.server.Listener.Addr().String(), &tls.Config{InsecureSkipVerify: true, NextProtos: []string{"h2"}})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	status, body := overHTTP2(t, conn, [][2]string{
		{":method", "GET"}, {":scheme", "https"}, {":authority", "hub"}, {":path", "/k8s/clusters/edge/api/v1/namespaces/a/pods/b/exec?command=sh"},
		{"authorization", "Bearer " + adminToken}, {"sec-websocket-key", "AAAAAAAAAAAAAAAAAAAAAA=="}, {"sec-websocket-version", "13"},
	})
	if status != "400" || !strings.Contains(body, "http/1.1") {
		t.Errorf("got %s %s, want 400 with the protocol to ask for", status, body)
	}
}

// overHTTP2 sends one request on a fresh connection.
func overHTTP2(t *testing.T, conn net.Conn, headers [][2]string) (status, body string) {
	t.Helper()
	if err := conn.SetDeadline(time.Now().Add(limit)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, http2.ClientPreface); err != nil {
		t.Fatal(err)
	}
	framer := http2.NewFramer(conn, conn)
	framer.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	if err := framer.WriteSettings(); err != nil {
		t.Fatal(err)
	}
	var block strings.Builder
	encoder := hpack.NewEncoder(&block)
	for _, h := range headers {
		if err := encoder.WriteField(hpack.HeaderField{Name: h[0], Value: h[1]}); err != nil {
			t.Fatal(err)
		}
	}
	if err := framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: []byte(block.String()), EndStream: true, EndHeaders: true}); err != nil {
		t.Fatal(err)
	}
	for {
		frame, err := framer.ReadFrame()
		if err != nil {
			t.Fatalf("after %s %s: %v", status, body, err)
		}
		switch f := frame.(type) {
		case *http2.MetaHeadersFrame:
			status = f.PseudoValue("status")
		case *http2.DataFrame:
			body += string(f.Data())
		}
		if frame.Header().StreamID == 1 && frame.Header().Flags.Has(http2.FlagDataEndStream) {
			return status, body
		}
	}
}

// TestPodHTMLIsSandboxed asks a pod for its page through the services proxy:
// it must not come as a page of the hub's origin.
func TestPodHTMLIsSandboxed(t *testing.T) {
	t.Parallel()
	b := newBed(t, options{})
	namespace := b.kube.Namespace(t)
	path := b.servePod(t, namespace, "evil", func(w http.ResponseWriter, r *http.Request) {
		for name, value := range reaching {
			w.Header().Set(name, value)
		}
		if r.URL.Path == "/headers" {
			fmt.Fprint(w, r.Header)
			return
		}
		fmt.Fprint(w, "<script>fetch('/hub.v1')</script>")
	})
	response, page := b.get(adminToken, path)
	if response.StatusCode != http.StatusOK || !strings.Contains(page, "<script>") {
		t.Fatalf("%s %s", response.Status, page)
	}
	b.checkHarmless(t, response)
	if _, sent := b.get(adminToken, path+"headers"); strings.Contains(strings.ToLower(sent), "bearer") || strings.Contains(sent, "Impersonate") {
		t.Errorf("the pod was sent %s", sent)
	}
	for name, token := range map[string]string{"unknown": "axle_nobody", "stranger": strangerToken} {
		refused, body := b.get(token, "/api")
		if refused.StatusCode != 401 && refused.StatusCode != 403 {
			t.Errorf("%s got %s %s", name, refused.Status, body)
		}
		b.checkHarmless(t, refused)
	}
	if got := b.records.where(func(r audit.Record) bool { return r.Verb == "proxy" && r.Status == 200 }); len(got) < 1 {
		t.Error("the calls were not audited")
	}
}

// reaching are headers by which a page would get at more than itself.
var reaching = map[string]string{
	"Set-Cookie": "session=stolen; Path=/", "Clear-Site-Data": `"*"`, "Service-Worker-Allowed": "/", "Strict-Transport-Security": "max-age=1",
	"Content-Security-Policy": "default-src *", "Content-Type": "text/html", "Alt-Svc": `h3=":1"`, "Refresh": "0; url=https://elsewhere.example",
	"Cache-Control": "public, max-age=1000", "X-Content-Type-Options": "maybe",
}

// servePod makes the API server use a handler here as a pod, and returns the path to
// it. An API server does not proxy to loopback addresses, so the handler listens on
// another address of this machine.
func (b *bed) servePod(t *testing.T, namespace, name string, handler http.HandlerFunc) string {
	t.Helper()
	ip := outerAddress(t)
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, "0"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(handler)
	server.Listener.Close()
	server.Listener = listener
	server.Start()
	t.Cleanup(server.Close)
	pods := b.direct().CoreV1().Pods(namespace)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PodSpec{NodeName: "nowhere", Containers: []corev1.Container{{Name: "main", Image: "none"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	pod.Status.Phase, pod.Status.PodIP, pod.Status.PodIPs = corev1.PodRunning, ip, []corev1.PodIP{{IP: ip}}
	if _, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	_, port, err := net.SplitHostPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return "/api/v1/namespaces/" + namespace + "/pods/" + name + ":" + port + "/proxy/"
}

// outerAddress is a non-loopback address of this machine.
func outerAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range addresses {
		if prefix, ok := a.(*net.IPNet); ok && prefix.IP.IsGlobalUnicast() {
			return prefix.IP.String()
		}
	}
	t.Fatal("this machine has only loopback addresses, and an API server proxies to none of them; give it one: ip addr add 192.0.2.2/32 dev lo")
	return ""
}

// checkHarmless looks at the headers that every answer has, or must not have.
func (b *bed) checkHarmless(t *testing.T, response *http.Response) {
	t.Helper()
	want := map[string]string{"Content-Security-Policy": "sandbox; default-src 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store"}
	for name, value := range want {
		if got := response.Header.Values(name); !slices.Equal(got, []string{value}) {
			t.Errorf("%s is %q, want %q alone", name, got, value)
		}
	}
	for _, name := range []string{"Set-Cookie", "Clear-Site-Data", "Service-Worker-Allowed", "Strict-Transport-Security", "Alt-Svc", "Refresh"} {
		if got := response.Header.Values(name); len(got) > 0 {
			t.Errorf("%s came through: %q", name, got)
		}
	}
}
