package doctor_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/axle-cd/axle/agent"
	"github.com/axle-cd/axle/agent/doctor"
	"github.com/axle-cd/axle/agent/identity"
	"github.com/axle-cd/axle/internal/bootstrap"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/wsconn"
	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
)

// broken is one set-up that cannot work.
type broken struct {
	// flags of axle-agent doctor, and its environment.
	flags, env []string
	// check is the one that must fail; says and fix are parts of its words.
	check, says, fix string
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// healthyHub answers a doctor as a hub does, and can be made to answer differently.
func healthyHub(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/healthz" {
		fmt.Fprintln(w, "ok")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusUnauthorized)
	fmt.Fprintln(w, `{"code":"unauthorized","message":"the token was revoked"}`)
}

// hubWithTunnels is a healthy hub that answers to a doctor's WebSocket too.
func hubWithTunnels(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != "/agent/v1/tunnel" {
		healthyHub(w, r)
		return
	}
	conn, err := wsconn.Accept(w, r, "axle.tunnel.v1")
	if err != nil {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"code":"invalid","message":%q}`, err)
		return
	}
	defer conn.Close()
	_, _ = io.CopyN(conn, conn, 32)
	_, _ = conn.Read(make([]byte, 1))
}

func serve(t *testing.T, handler http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s.URL
}

// serveTLS serves with a certificate that is good between two times, and
// returns the URL and a file with the certificate.
func serveTLS(t *testing.T, name string, from, to time.Time) (url, caFile string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "hub"}, NotBefore: from, NotAfter: to, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	if ip := net.ParseIP(name); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{name}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.HandlerFunc(healthyHub))
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	s.Config.ErrorLog = nil
	s.StartTLS()
	t.Cleanup(s.Close)
	file := write(t, t.TempDir(), "ca.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return s.URL, file
}

// closedPort is an address that nobody listens on, and that is not given to anybody
// else until the test ends.
func closedPort(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("127.0.0.1:%d", at.(*unix.SockaddrInet4).Port)
}

// smallDisk mounts a memory file system of 1 MiB.
func smallDisk(t *testing.T, flags uintptr) string {
	t.Helper()
	dir := t.TempDir()
	if err := unix.Mount("tmpfs", dir, "tmpfs", flags, "size=1m"); err != nil {
		t.Fatalf("mount a small disk: %v; this test needs the rights of root, as CI has them", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// identityOf writes an identity that was registered at a hub.
func identityOf(t *testing.T, hubURL string) string {
	t.Helper()
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{
		"privateKey": make([]byte, 32), "sealKey": string(seal.NewKey()), "hubURL": hubURL, "clusterUID": "u",
		"clusterID": "cl_1", "clusterName": "edge-1", "token": "gone", "expiresAt": time.Now().Add(time.Hour).UnixMicro(),
		"signingKeys": map[string]string{"k": base64.StdEncoding.EncodeToString(make([]byte, 32))},
	})
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "identity.json", string(text))
	return dir
}

// TestDoctorNamesBrokenSetups runs `axle-agent doctor` in set-ups that are
// really broken: it must name the one thing that is, with what to do.
func TestDoctorNamesBrokenSetups(t *testing.T) {
	t.Parallel()
	program, err := bin.Path(t.Context(), "axle-agent", bin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cluster := kube.Shared(t)
	nobody, err := cluster.KubeconfigFor("nobody")
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	good := serve(t, healthyHub)
	renew := func(url, ca string) []string { return []string{"--hub-url", url, "--ca-file", ca} }
	stranger, _ := serveTLS(t, "127.0.0.1", now.Add(-time.Hour), now.Add(time.Hour))
	proxy := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusForbidden) })
	revoked := serve(t, healthyHub)
	for name, b := range map[string]broken{
		"name that nobody knows": {
			flags: []string{"--hub-url", "https://hub.invalid"}, check: "dns", says: "hub.invalid", fix: "make the name resolvable",
		},
		"proxy that refuses": {
			flags: []string{"--hub-url", "https://hub.example.test"}, env: []string{"HTTPS_PROXY=" + proxy},
			check: "hub", says: "Forbidden", fix: "proxy " + strings.TrimPrefix(proxy, "http://"),
		},
		"certificate of a stranger": {
			flags: []string{"--hub-url", stranger}, check: "hub", says: "unknown authority", fix: "--ca-file",
		},
		"certificate that ran out": {
			flags: renew(serveTLS(t, "127.0.0.1", now.Add(-48*time.Hour), now.Add(-24*time.Hour))),
			check: "hub", says: "good from", fix: "renew the hub's certificate",
		},
		"certificate for another name": {
			flags: renew(serveTLS(t, "other.example.test", now.Add(-time.Hour), now.Add(time.Hour))),
			check: "hub", says: "127.0.0.1", fix: "one of its names",
		},
		"clock that is off": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Date", time.Now().Add(11*time.Minute).UTC().Format(http.TimeFormat))
				healthyHub(w, r)
			})}, check: "hub", says: "differs from the hub's by -1", fix: "NTP",
		},
		"portal that answers": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>Welcome to the hotel") })},
			check: "hub", says: "not the answer of a hub", fix: "portal",
		},
		"portal that redirects": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "https://login.example.test/", http.StatusFound)
			})}, check: "hub", says: "login.example.test", fix: "sign in to this network",
		},
		"proxy that loses Upgrade": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				r.Header.Del("Upgrade")
				hubWithTunnels(w, r)
			})}, check: "tunnel", says: "no Upgrade header", fix: "pass the headers Connection: Upgrade",
		},
		"proxy that blocks WebSockets": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") != "" {
					http.Error(w, "blocked by policy 7", http.StatusForbidden)
					return
				}
				hubWithTunnels(w, r)
			})}, check: "tunnel", says: "answers HTTP 403 to a WebSocket", fix: "allow /agent/v1/tunnel",
		},
		"proxy that hangs up on WebSockets": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Upgrade") != "" {
					panic(http.ErrAbortHandler)
				}
				hubWithTunnels(w, r)
			})}, check: "tunnel", says: "cannot be reached for a WebSocket", fix: "forward WebSockets",
		},
		"proxy that keeps bytes back": {
			flags: []string{"--hub-url", serve(t, func(w http.ResponseWriter, r *http.Request) {
				if conn, err := wsconn.Accept(w, r, "axle.tunnel.v1"); err == nil {
					conn.Close()
					return
				}
				hubWithTunnels(w, r)
			})}, check: "tunnel", says: "does not come back", fix: "without buffering",
		},
		"hub that is down": {
			flags: []string{"--hub-url", "http://" + closedPort(t)}, check: "hub", says: "refused", fix: "start the hub",
		},
		"token that was revoked": {
			flags: []string{"--hub-url", revoked, "--data-dir", identityOf(t, revoked)}, check: "identity", says: "revoked", fix: "clusters connect",
		},
		"identity of another hub": {
			flags: []string{"--hub-url", good, "--data-dir", identityOf(t, "https://other.example.test")}, check: "identity", says: "other.example.test", fix: "--hub-url",
		},
		"no identity and no token": {
			flags: []string{"--hub-url", good}, check: "identity", says: "--token-file", fix: "clusters connect",
		},
		"account without rights": {
			flags: []string{"--hub-url", good, "--kubeconfig", nobody}, check: "rights", says: "create secrets in axle-system", fix: "roles of its manifests",
		},
		"no API server": {
			flags: []string{"--hub-url", good, "--kubeconfig", write(t, t.TempDir(), "kubeconfig", strings.ReplaceAll(kubeconfigOf(t, cluster), cluster.URL(), "https://"+closedPort(t)))},
			check: "cluster", says: "refused", fix: "reach the API server",
		},
		"disk that is full": {
			flags: []string{"--hub-url", good, "--data-dir", smallDisk(t, 0)}, check: "disk", says: "MiB are free", fix: "make room",
		},
		"disk that is read-only": {
			flags: []string{"--hub-url", good, "--data-dir", smallDisk(t, unix.MS_RDONLY)}, check: "disk", says: "read-only", fix: "remounted",
		},
		"no renderer": {
			flags: []string{"--hub-url", good, "--render-binary", "/nowhere/axle-render"}, check: "render", says: "/nowhere", fix: "install axle-render",
		},
		"no renderer of rare kinds": {
			flags: []string{"--hub-url", good, "--render-binary", executable(t, "axle-render")},
			check: "render", says: "axle-render-rare", fix: "install axle-render-rare",
		},
	} {
		t.Run(name, func(t *testing.T) {
			failed := runDoctor(t, program, cluster, b)
			got, ok := failed[b.check]
			if !ok || !strings.Contains(got, b.says) || !strings.Contains(got, b.fix) {
				t.Errorf("%s should say %q and %q; what fails is\n%v", b.check, b.says, b.fix, failed)
			}
		})
	}
}

// executable creates a program that is alone in its folder.
func executable(t *testing.T, name string) string {
	t.Helper()
	path := write(t, t.TempDir(), name, "#!/bin/sh\n")
	if err := os.Chmod(path, 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

func kubeconfigOf(t *testing.T, cluster *kube.Cluster) string {
	t.Helper()
	text, err := os.ReadFile(cluster.Kubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// runDoctor returns the lines of the checks that failed, by their names.
func runDoctor(t *testing.T, program string, cluster *kube.Cluster, b broken) map[string]string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	// What comes later overrides what came before.
	args := append([]string{"doctor", "--kubeconfig", cluster.Kubeconfig(), "--data-dir", filepath.Join(t.TempDir(), "data")}, b.flags...)
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, b.env...)
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err == nil {
		t.Errorf("the doctor found nothing wrong:\n%s", out.String())
	}
	failed, name := map[string]string{}, ""
	for line := range strings.Lines(out.String()) {
		if word, rest, ok := strings.Cut(line, "  "); ok && (word == "OK" || word == "FAIL") {
			name = ""
			if word == "FAIL" {
				name = strings.Fields(rest)[0]
			}
		}
		if name != "" {
			failed[name] += line
		}
	}
	return failed
}

// TestDoctorSaysWhatTheTunnelDoes: a working tunnel, one that is off on purpose, and
// a hub version without probes are not problems.
func TestDoctorSaysWhatTheTunnelDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		hub  http.HandlerFunc
		mode string
		says string
	}{
		"it works":    {hubWithTunnels, "on", "a WebSocket gets through"},
		"off":         {healthyHub, "off", "off by --tunnel"},
		"an old hub":  {healthyHub, "on", "this version of the hub does not support"},
		"no hub":      {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, "on", "the hub is not reached"},
		"no such API": {problemOf(http.StatusNotFound, "not_found"), "on", "this version of the hub does not support"},
	} {
		var got doctor.Check
		for check := range doctor.Run(t.Context(), agent.Config{HubURL: serve(t, c.hub), Tunnel: c.mode, DataDir: t.TempDir(), Kubeconfig: "/nowhere"}) {
			if check.Name == "tunnel" {
				got = check
				break
			}
		}
		if got.Problem != "" || !strings.Contains(got.Detail, c.says) || got.Skipped != (name == "no hub") {
			t.Errorf("%s: %+v, want %q", name, got, c.says)
		}
	}
}

// problemOf is a hub that answers everything with one error.
func problemOf(status int, code string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"code":%q,"message":"some words"}`, code)
	}
}

func TestDoctorNamesTheFix(t *testing.T) {
	for check := range doctor.Run(t.Context(), agent.Config{HubURL: "http://127.0.0.1:1", DataDir: t.TempDir(), Kubeconfig: "/nowhere"}) {
		if check.Problem != "" && check.Fix == "" {
			t.Errorf("%s fails without saying what to do: %s", check.Name, check.Problem)
		}
		if (check.Name == "hub" || check.Name == "cluster") && check.Problem == "" {
			t.Errorf("%s is well though nothing is there", check.Name)
		}
	}
}

func TestDoctorBlamesTheHubOnce(t *testing.T) {
	for check := range doctor.Run(t.Context(), agent.Config{DataDir: t.TempDir(), Kubeconfig: "/nowhere"}) {
		blames := strings.Contains(check.Problem+check.Fix, "hub-url")
		if want := check.Name == "dns" || check.Name == "hub"; blames != want {
			t.Errorf("%s says %s %s", check.Name, check.Problem, check.Fix)
		}
	}
}

// A token without a key of the hub is reported before and after the registration.
func TestDoctorWarnsOfATokenWithoutAKey(t *testing.T) {
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	other, _, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	identityCheck := func(cfg agent.Config) doctor.Check {
		for check := range doctor.Run(t.Context(), cfg) {
			if check.Name == "identity" {
				return check
			}
		}
		t.Fatal("the doctor does not look at the identity")
		return doctor.Check{}
	}
	for name, test := range map[string]struct {
		token        string
		warns, fails bool
	}{
		"the hub's key": {bootstrap.Join("axle_secret", public), false, false},
		"no key":        {"axle_secret", true, false},
		"half a key":    {bootstrap.Join("axle_secret", other)[:40], false, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			file := write(t, dir, "token", test.token+"\n")
			cfg := agent.Config{HubURL: serve(t, healthyHub), TokenFile: file, DataDir: dir, Kubeconfig: "/nowhere"}
			before := identityCheck(cfg)
			if got := strings.Contains(before.Detail, "warning"); got != test.warns || (before.Problem != "") != test.fails {
				t.Errorf("before the registration it is %+v", before)
			}
			id := &identity.Identity{PrivateKey: private.Seed(), SealKey: "line", HubURL: cfg.HubURL, ClusterUID: "uid", ClusterID: "cl_1", ClusterName: "edge-1",
				SigningKeys: map[string]ed25519.PublicKey{"k1": public}, FirstHeard: test.warns}
			if err := (identity.File{Path: cfg.Dir(identity.FileName)}).Save(t.Context(), id); err != nil {
				t.Fatal(err)
			}
			if after := identityCheck(cfg); strings.Contains(after.Detail+after.Problem, "warning") != test.warns {
				t.Errorf("after it it is %+v", after)
			}
		})
	}
}
