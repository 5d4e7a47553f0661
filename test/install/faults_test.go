package install_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/axle-cd/axle/test/bin"
	"github.com/axle-cd/axle/test/kube"
	"github.com/axle-cd/axle/test/pg"
	"github.com/axle-cd/axle/test/port"
)

// unsuitable makes a database on the test's server that a hub cannot use: "ascii" of
// another encoding, "still" read-only.
func unsuitable(t *testing.T, kind string) string {
	t.Helper()
	base, err := url.Parse(pg.New(t))
	must(t, err)
	admin, err := pgx.Connect(t.Context(), base.String())
	must(t, err)
	name := strings.Trim(base.Path, "/") + "_" + kind
	base.Path = "/" + name
	made := "CREATE DATABASE " + name + " ENCODING 'UTF8' TEMPLATE template0"
	if kind == "ascii" {
		made = "CREATE DATABASE " + name + " ENCODING 'SQL_ASCII' LOCALE_PROVIDER libc LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
	}
	_, err = admin.Exec(t.Context(), made)
	must(t, err)
	if kind == "still" {
		_, err = admin.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = on")
		must(t, err)
	}
	t.Cleanup(func() {
		_, _ = admin.Exec(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)") // the server ends with the test binary
		_ = admin.Close(context.WithoutCancel(t.Context()))
	})
	return base.String()
}

// The preflight asks the database what the hub would ask at its start. One that it does
// not reach from here may be reached by the pods, and is only doubted.
func TestPreflightAsksTheDatabase(t *testing.T) {
	sideBySide(t)
	cluster := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	sound(t, client)
	secret(t, client, "axle", "k", map[string][]byte{"hub.key": []byte("k1 00")})
	b := onCluster(t, cluster)
	must(t, os.WriteFile(b.values, []byte(plain+"shape: ha\nhub: {keySecret: {name: k}}\ndatabase: {urlSecret: {name: db}}\n"), 0o600))
	nobody, err := port.Address()
	must(t, err)
	for name, c := range map[string]struct {
		url, result, wrong, repair string
	}{
		"encoding":        {unsuitable(t, "ascii"), "failed", "encoding SQL_ASCII", "ENCODING 'UTF8'"},
		"read-only":       {unsuitable(t, "still"), "failed", "takes no writes", "that may write"},
		"too old":         {pg.Old(t, "90603"), "failed", "version 9.6", "14 or newer"},
		"unreachable":     {"postgres://axle:hunter2@" + nobody + "/axle", "warning", "does not answer at " + nobody, "network policies"},
		"of the cluster":  {"postgres://axle:hunter2@database/axle", "", "", ""},
		"as it should be": {pg.New(t), "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			secret(t, client, "axle", "db", map[string][]byte{"url": []byte(c.url)})
			defer func() { must(t, client.CoreV1().Secrets("axle").Delete(t.Context(), "db", metav1.DeleteOptions{})) }()
			out, errs, code := b.axle("preflight", "--kubeconfig", b.Kubeconfig(), "--values", b.values)
			if (code != 0) != (c.result == "failed") {
				t.Errorf("code %d", code)
			}
			if c.result == "" && strings.Contains(errs, "database") {
				t.Errorf("it says %q", errs)
			}
			if c.result != "" && (!strings.Contains(errs, c.result+": database: ") || !strings.Contains(errs, c.wrong) || !strings.Contains(errs, c.repair)) {
				t.Errorf("it says %q, not %q with %q", errs, c.wrong, c.repair)
			}
			if strings.Contains(out+errs, "hunter2") {
				t.Error("it shows a password")
			}
		})
	}
}

// refusedDatabase installs on a database of another encoding, past the preflight: the
// pods' own words say so.
func (h *ha) refusedDatabase() {
	h.t.Helper()
	h.setDatabase(unsuitable(h.t, "ascii"))
	_, errs, code := h.axle("install", "--kubeconfig", h.Kubeconfig(), "--values", h.values, "--skip-preflight")
	if code == 0 || !strings.Contains(errs, "its last words") || !strings.Contains(errs, "encoding SQL_ASCII") || !strings.Contains(errs, "run the same command again") {
		h.t.Errorf("a database of another encoding: %d %s", code, errs)
	}
	h.setDatabase(h.database)
}

// otherShape gives the release the values of another one: helm upgrade is refused with
// what to do, and nothing changes.
func (h *ha) otherShape() {
	h.t.Helper()
	generation := h.kubectl("-n", "axle", "get", "statefulset", "axle", "-o", "jsonpath={.metadata.generation}")
	out := h.helmFails("upgrade", "axle", "../../deploy/charts/axle", "--namespace", "axle", "--values", examples+"/small.yaml")
	if !strings.Contains(out, "keeps its data in Postgres") || !strings.Contains(out, "give the values of this release again") {
		h.t.Errorf("the values of another release: %s", out)
	}
	if have := h.kubectl("-n", "axle", "get", "statefulset", "axle", "-o", "jsonpath={.metadata.generation}"); have != generation {
		h.t.Errorf("the StatefulSet changed: %s, %s", generation, have)
	}
}

// connectedAgents keeps the control plane while agents poll it.
func (h *ha) connectedAgents() {
	h.t.Helper()
	_, errs, code := h.axle("uninstall", "--kubeconfig", h.Kubeconfig())
	if code == 0 || !strings.Contains(errs, "are connected") || !strings.Contains(errs, "axle clusters delete") {
		h.t.Errorf("uninstall with agents: %d %s", code, errs)
	}
	h.calmly("a refused uninstall", func() {})
}

// helmFails is helm that must fail.
func (b *bed) helmFails(args ...string) string {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), limit)
	defer cancel()
	out, err := exec.CommandContext(ctx, helmProgram(b.t), append(args, "--kubeconfig", b.Kubeconfig())...).CombinedOutput()
	if err == nil {
		b.t.Errorf("helm %s succeeded:\n%s", strings.Join(args, " "), out)
	}
	return string(out)
}

// A certificate that does not come keeps the hub from starting. The install says what
// cert-manager says of it, whose kinds are there without cert-manager, and goes on when it
// came.
func TestCertificateThatDoesNotCome(t *testing.T) {
	sideBySide(t)
	b := newBed(t)
	b.certManager("acme")
	install := []string{"install", "--kubeconfig", b.Kubeconfig(), "--values", b.values, "--set", "tls.mode=certManager,tls.issuer.name=acme,service.type=LoadBalancer", "--without-mgmt", "--timeout", "5s"}
	_, errs, code := b.axle(install...)
	if code == 0 || !strings.Contains(errs, "certificate axle: cert-manager has not looked at it yet") {
		t.Errorf("at first: %d %s", code, errs)
	}
	say := func(conditions string) {
		t.Helper()
		b.kubectl("-n", "axle", "patch", "certificate", "axle", "--type=merge", "--patch", `{"status": {"conditions": [`+conditions+`]}}`)
	}
	say(`{"type": "Ready", "status": "False", "message": "Issuing certificate as Secret does not exist"}, {"type": "Issuing", "status": "False", "message": "the order is invalid: no such name"}`)
	_, errs, code = b.axle(install...)
	if code == 0 || !strings.Contains(errs, "certificate axle: the order is invalid: no such name") || !strings.Contains(errs, "run the same command again") {
		t.Errorf("a refused order: %d %s", code, errs)
	}
	client, err := kubernetes.NewForConfig(b.Config())
	must(t, err)
	public, private := pair(t, "127.0.0.1", time.Now().Add(time.Hour))
	secret(t, client, "axle", b.kubectl("-n", "axle", "get", "certificate", "axle", "-o", "jsonpath={.spec.secretName}"), map[string][]byte{"tls.crt": public, "tls.key": private})
	say(`{"type": "Ready", "status": "True", "message": "Certificate is up to date"}`)
	install[len(install)-1] = "5m"
	if _, errs, _ := b.axle(install...); strings.Contains(errs, "not everything runs") {
		t.Errorf("when it came: %s", errs)
	}
}

// An install whose process is killed right after any of its writes goes on when it is
// run again, to one release that is deployed and all its objects. Each run here begins
// where the killed one before it ended.
func TestKilledInstallGoesOn(t *testing.T) {
	sideBySide(t)
	cluster := kube.New(t, kube.ClusterConfig{})
	client, err := kubernetes.NewForConfig(cluster.Config())
	must(t, err)
	sound(t, client)
	program, err := bin.Path(t.Context(), "axle", bin.Options{})
	must(t, err)
	var left atomic.Int64
	var mu sync.Mutex
	var running *exec.Cmd
	kubeconfig := throughAfter(t, cluster, func(r *http.Request) {
		write := r.Method != http.MethodGet && !strings.Contains(r.URL.Path, "selfsubject")
		if write && left.Add(-1) == 0 {
			mu.Lock()
			defer mu.Unlock()
			_ = running.Process.Kill() // it ended by itself
		}
	})
	install := func() (killed bool, out string) {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		command := exec.CommandContext(ctx, program, "install", "--kubeconfig", kubeconfig, "--url", "https://127.0.0.1:1", "--timeout", "0", "--set", "service.type=LoadBalancer,crds.hook=false")
		var text bytes.Buffer
		command.Stdout, command.Stderr = &text, &text
		command.Env = append(os.Environ(), "AXLE_CONFIG="+filepath.Join(t.TempDir(), "axle.yaml"))
		mu.Lock()
		running = command
		err := command.Start()
		mu.Unlock()
		must(t, err)
		err = command.Wait()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			status, ok := exit.Sys().(syscall.WaitStatus)
			if !ok || status.Signal() != syscall.SIGKILL {
				t.Fatalf("it ended with %v:\n%s", err, text.String())
			}
			return true, text.String()
		}
		must(t, err)
		return false, text.String()
	}
	step := int64(4)
	if soak {
		step = 1
	}
	kills := 0
	for writes := int64(1); ; writes += step {
		left.Store(writes)
		killed, _ := install()
		if !killed {
			break
		}
		if kills++; kills > 80 {
			t.Fatal("it does not end")
		}
	}
	left.Store(1 << 40)
	if killed, out := install(); killed || !strings.Contains(out, "installed") {
		t.Errorf("once more: %s", out)
	}
	if kills < int(20/step) {
		t.Errorf("it was killed %d times only", kills)
	}
	secrets, err := client.CoreV1().Secrets("axle").List(t.Context(), metav1.ListOptions{LabelSelector: "owner=helm,status=deployed"})
	if err != nil || len(secrets.Items) != 1 {
		t.Errorf("%d releases are deployed, %v", len(secrets.Items), err)
	}
	for _, name := range []string{"statefulset", "service", "poddisruptionbudget", "networkpolicy"} {
		b := onCluster(t, cluster)
		if have := b.kubectl("-n", "axle", "get", name, "axle", "-o", "name"); have == "" {
			t.Errorf("there is no %s", name)
		}
	}
}
