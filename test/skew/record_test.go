package skew_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/klauspost/compress/zstd"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	_ "modernc.org/sqlite"

	"github.com/axle-cd/axle/agent/cache"
	"github.com/axle-cd/axle/agent/hubclient"
	"github.com/axle-cd/axle/agent/tunnel"
	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/fleet"
	"github.com/axle-cd/axle/hub/gitcache"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/hub/identity"
	"github.com/axle-cd/axle/hub/identity/agentkey"
	"github.com/axle-cd/axle/hub/store"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
	"github.com/axle-cd/axle/internal/seal"
	"github.com/axle-cd/axle/internal/tarball"
	"github.com/axle-cd/axle/test/gitserver"
)

var (
	update = flag.Bool("update", false, "record what changed and is not released")
	again  = flag.Bool("again", false, "with -update: record also what seems unchanged")
)

func TestMain(m *testing.M) { hubtest.Main(m) }

// limit is how long anything may take on a loaded machine.
const limit = 60 * time.Second

// The files of a record.
const (
	recordFile, descriptorFile, schemaFile = "record.json", "agent.binpb", "schema.txt"
	databaseFile, keyFile, backupFile      = "hub.db.zst", "hub.key", "hub.backup"
	cacheFile, agentDir                    = "hub.cache.tar.zst", "agent"
)

// record is what one version wrote and said.
type record struct {
	// At is when, in microseconds.
	At int64 `json:"at"`
	// Cluster and Service are ids, Tarball is the digest of the service's content.
	Cluster   string                       `json:"cluster"`
	Service   string                       `json:"service"`
	Tarball   digest.Digest                `json:"tarball"`
	Keys      map[string]ed25519.PublicKey `json:"keys"`
	Exchanges []exchange                   `json:"exchanges"`
}

// exchange is a request with its answer.
type exchange struct {
	Name    string      `json:"name"`
	Method  string      `json:"method"`
	Path    string      `json:"path"`
	Request http.Header `json:"request"`
	Body    []byte      `json:"body,omitempty"`
	Status  int         `json:"status"`
	Answer  http.Header `json:"answer"`
	Said    []byte      `json:"said,omitempty"`
}

// folder is that of a version's record.
func folder(minor int) string { return filepath.Join("testdata", strconv.Itoa(minor)) }

// minors are the recorded versions, oldest first.
func minors(t *testing.T) []int {
	t.Helper()
	entries, err := os.ReadDir("testdata")
	must(t, err)
	var list []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && e.IsDir() {
			list = append(list, n)
		}
	}
	slices.Sort(list)
	return list
}

// What this tree writes and says is recorded: a format that changes needs a new record.
func TestTodayIsRecorded(t *testing.T) {
	dir := folder(store.SchemaMinor)
	wants := map[string][]byte{descriptorFile: descriptors(t), schemaFile: schemaOf(t, filepath.Join(hubtest.Folder(t), "hub.db"))}
	var differs []string
	for name, want := range wants {
		if have, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(have, want) {
			differs = append(differs, name)
		}
	}
	switch {
	case len(differs) == 0 && !*again:
	case released(t)[store.SchemaMinor] != "":
		t.Fatalf("%s of the released version 0.%d would change: what it replaces must stay until two releases later, and store.SchemaMinor must grow; then run: go test ./test/skew -run TestTodayIsRecorded -update", strings.Join(differs, " and "), store.SchemaMinor)
	case !*update:
		t.Fatalf("%s changed since the record of 0.%d, which is not released: run go test ./test/skew -run TestTodayIsRecorded -update", strings.Join(differs, " and "), store.SchemaMinor)
	default:
		must(t, os.RemoveAll(dir))
		must(t, os.MkdirAll(dir, 0o755))
		makeRecord(t, dir)
		for name, want := range wants {
			must(t, os.WriteFile(filepath.Join(dir, name), want, 0o600))
		}
	}
}

// descriptors are the agent protocol as a set of files.
func descriptors(t *testing.T) []byte {
	t.Helper()
	set := &descriptorpb.FileDescriptorSet{}
	seen := map[string]bool{}
	var add func(f protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		set.File = append(set.File, protodesc.ToFileDescriptorProto(f))
	}
	add(agentv1.File_agent_v1_agent_proto)
	add(agentv1.File_agent_v1_tunnel_proto)
	data, err := proto.MarshalOptions{Deterministic: true}.Marshal(set)
	must(t, err)
	return data
}

// schemaOf lists the columns and indexes of a SQLite file.
func schemaOf(t *testing.T, file string) []byte {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	must(t, err)
	defer db.Close()
	rows, err := db.QueryContext(t.Context(), `SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || coalesce(c.dflt_value, 'NULL') || ' ' || c.pk FROM sqlite_master m, pragma_table_info(m.name) c
		WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' AND m.name NOT LIKE 'goose_%'
		UNION ALL SELECT 'index ' || name || ' of ' || tbl_name FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY 1`)
	must(t, err)
	defer rows.Close()
	var text strings.Builder
	for rows.Next() {
		var line string
		must(t, rows.Scan(&line))
		text.WriteString(line + "\n")
	}
	must(t, rows.Err())
	return []byte(text.String())
}

// recorder keeps what passes through.
type recorder struct {
	to        http.RoundTripper
	name      string
	exchanges []exchange
}

// RoundTrip implements http.RoundTripper.
func (r *recorder) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		if body, err = io.ReadAll(request.Body); err != nil {
			return nil, err
		}
		request.Body = io.NopCloser(bytes.NewReader(body))
	}
	answer, err := r.to.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	var said []byte
	if answer.StatusCode != http.StatusSwitchingProtocols {
		said, err = io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil {
			return nil, err
		}
		answer.Body = io.NopCloser(bytes.NewReader(said))
	}
	if answer.StatusCode < http.StatusBadRequest && r.name != "" {
		r.exchanges = append(r.exchanges, exchange{r.name, request.Method, request.URL.Path, request.Header.Clone(), body, answer.StatusCode, answer.Header.Clone(), said})
	}
	return answer, nil
}

// admin may do everything.
var admin = identity.Principal{Kind: identity.KindUser, ID: "usr_test", Name: "test@example.com", Admin: true, Scopes: []string{identity.ScopeAdmin}}

// registered is an agent of the recorded hub.
type registered struct {
	token string // bootstrap
	key   ed25519.PrivateKey
	ask   *agentv1.RegisterRequest
	got   *agentv1.RegisterResponse
}

// makeRecord runs a hub with one cluster and one service, and records the calls of an
// agent. The hub's database is that of before the calls.
func makeRecord(t *testing.T, dir string) {
	t.Helper()
	data := hubtest.Folder(t)
	config := hubtest.Config{DataDir: data, Hub: hubtest.HubConfig{AllowHTTPUpstreams: true}}
	h := hubtest.New(t, config)
	a := register(t, h)
	service, tarball := declare(t, h, a)
	must(t, hubtest.Backup(t.Context(), config, filepath.Join(dir, backupFile)))
	must(t, h.Stop())
	pack(t, filepath.Join(data, "hub.db"), filepath.Join(dir, databaseFile))
	packFolder(t, filepath.Join(data, "cache"), filepath.Join(dir, cacheFile))
	copyFile(t, filepath.Join(data, keyFile), filepath.Join(dir, keyFile))

	r := record{At: time.Now().UnixMicro(), Cluster: a.got.GetClusterId(), Service: service, Tarball: tarball, Keys: hubclient.Keys(a.got.GetSigningKeys())}
	h = hubtest.New(t, config)
	r.Exchanges = speak(t, h.URL, dir, a, r)
	text, err := json.MarshalIndent(r, "", " ")
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, recordFile), append(text, '\n'), 0o600))
}

func register(t *testing.T, h *hubtest.Hub) registered {
	t.Helper()
	made, err := h.Parts().Fleet.CreateCluster(t.Context(), admin.Name, fleet.NewCluster{Name: "edge-1", Tags: map[string]string{"tier": "edge"}})
	must(t, err)
	token, err := h.Parts().AgentKeys.CreateBootstrapToken(t.Context(), admin, agentkey.BootstrapRequest{ClusterID: made.ID, ClusterName: made.Name})
	must(t, err)
	_, key, err := ed25519.GenerateKey(nil)
	must(t, err)
	a := registered{token: token.Secret, key: key, ask: &agentv1.RegisterRequest{ClusterUid: "uid-edge-1", BootId: "boot-1", AgentVersion: "recorded", ProtocolVersion: 2}}
	a.got, err = client(t, h.URL, nil, record{}).Register(t.Context(), a.token, key, a.ask)
	must(t, err)
	return a
}

// declare puts a service on the cluster and waits until it has content.
func declare(t *testing.T, h *hubtest.Hub, a registered) (service string, content digest.Digest) {
	t.Helper()
	git, err := gitserver.Start(t.Context(), gitserver.Config{})
	must(t, err)
	t.Cleanup(func() { _ = git.Close() }) // the end of the test is not its subject
	must(t, git.Create(t.Context(), "fleet"))
	_, err = git.Commit(t.Context(), "fleet", "main", "begin", map[string]gitserver.Content{"web/config.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\ndata: {word: one}\n"})
	must(t, err)
	_, err = h.Parts().Cache.CreateRepository(t.Context(), gitcache.Repository{Name: "fleet", URL: git.URL("fleet")}, gitcache.Credentials{})
	must(t, err)
	v, err := h.Parts().Fleet.CreateService(t.Context(), admin.Name, fleet.ServiceRequest{
		Ref:  fleet.Ref{Cluster: "edge-1", Name: "web"},
		Spec: fleet.Spec{Namespace: "apps", Repository: "fleet", Git: &fleet.Git{Ref: "main", Folder: "web"}, Configuration: map[string]string{"region": "north"}, Secrets: map[string]string{"password": "recorded"}},
	})
	must(t, err)
	c := client(t, h.URL, nil, record{Cluster: a.got.GetClusterId(), Keys: hubclient.Keys(a.got.GetSigningKeys())})
	c.SetToken(a.got.GetDeployToken())
	eventually.For(t, limit, "the service has content", func() error {
		answer, err := c.Desired(t.Context(), "")
		if err != nil {
			return err
		}
		for _, s := range answer.List.Desired.GetServices() {
			if content = digest.Digest(s.GetTarballDigest()); s.GetId() == v.ID && content != "" {
				return nil
			}
		}
		return fmt.Errorf("the list is %v", answer.List.Desired.GetServices())
	})
	return v.ID, content
}

// client is an agent's, through a recorder unless it is nil.
func client(t *testing.T, url string, through http.RoundTripper, r record) *hubclient.Client {
	t.Helper()
	c, err := hubclient.New(hubclient.Config{URL: url, Transport: through, ClusterID: r.Cluster, Keys: r.Keys})
	must(t, err)
	return c
}

// speak makes each call of an agent once, and writes what an agent keeps on its disk.
func speak(t *testing.T, url, dir string, a registered, r record) []exchange {
	t.Helper()
	transport, err := hubclient.NewTransport(nil)
	must(t, err)
	rec := &recorder{to: transport}
	c := client(t, url, rec, r)
	c.SetToken(a.got.GetDeployToken())
	ctx := t.Context()

	rec.name = "poll"
	list, err := c.Desired(ctx, "")
	must(t, err)
	rec.name = "services"
	specs, err := c.Services(ctx, []string{r.Service})
	must(t, err)
	rec.name = "tarball"
	keepOnDisk(t, filepath.Join(dir, agentDir), list.List, specs.GetServices()[0], r.Tarball, downloadOf(c))
	rec.name = "report"
	_, err = c.Report(ctx, &agentv1.ReportRequest{BootId: "boot-1", Sequence: 1, Services: []*agentv1.ServiceReport{report(t, r, specs.GetServices()[0])}})
	must(t, err)
	rec.name = "idle poll"
	idle, err := c.Desired(ctx, list.List.ETag)
	must(t, err)
	if idle.List != nil {
		t.Fatal("a poll with the list's ETag got a list")
	}
	rec.name = "tunnel"
	dialTunnel(ctx, t, url, &recorder{to: tunnel.Transport(transport)}, rec, a.got.GetDeployToken(), c.Seen().String())
	rec.name = "ping"
	must(t, c.Ping(ctx, &agentv1.PingRequest{BootId: "boot-1", AgentVersion: "recorded", ProtocolVersion: 2, KubernetesVersion: "v1.36.3", Distro: "k3s", Nodes: 3}))
	rec.name = "register"
	_, err = client(t, url, rec, record{}).Register(ctx, a.token, a.key, a.ask)
	must(t, err)
	rec.name = "renew"
	_, err = c.Renew(ctx, hubclient.Renewal{ClusterID: r.Cluster, ClusterUID: a.ask.GetClusterUid(), BootID: "boot-1", Key: a.key})
	must(t, err)
	return rec.exchanges
}

func dialTunnel(ctx context.Context, t *testing.T, url string, through, into *recorder, token, seen string) {
	t.Helper()
	through.name = into.name
	conn, err := (&tunnel.Dialer{URL: url, Transport: through, Authorization: func() string { return "Bearer " + token }, Seen: func() string { return seen }}).Dial(ctx)
	must(t, err)
	must(t, conn.Close())
	into.exchanges = append(into.exchanges, through.exchanges...)
}

// report is a first status of the service.
func report(t *testing.T, r record, spec *agentv1.ServiceSpec) *agentv1.ServiceReport {
	t.Helper()
	status, err := proto.MarshalOptions{Deterministic: true}.Marshal(&agentv1.ServiceStatus{Sync: "Synced", Health: "Healthy", SpecDigest: spec.GetSpecDigest(), Revision: 1})
	must(t, err)
	return &agentv1.ServiceReport{ServiceId: r.Service, NewHash: hash(status), Status: status}
}

// download gets the bytes of a tarball.
type download func(context.Context, digest.Digest) (io.ReadCloser, error)

// unpacked is an agent's tree of the content. It is Unavailable if what was
// downloaded has another digest.
// downloadOf downloads with a client.
func downloadOf(c *hubclient.Client) download {
	return func(ctx context.Context, d digest.Digest) (io.ReadCloser, error) {
		return c.Download(ctx, tarball.Request{Digest: d})
	}
}

func unpacked(t *testing.T, c *cache.Cache, service string, d digest.Digest, get download) cache.Tree {
	t.Helper()
	tree, err := c.Tree(t.Context(), service, d, func(ctx context.Context, r tarball.Request) (*tarball.Download, error) {
		body, err := get(ctx, r.Digest)
		return &tarball.Download{ReadCloser: body, Size: -1}, err
	})
	must(t, err)
	return tree
}

// keepOnDisk writes what an agent keeps.
func keepOnDisk(t *testing.T, dir string, list *hubclient.List, spec *agentv1.ServiceSpec, content digest.Digest, get download) {
	t.Helper()
	c := openCache(t, dir, true)
	unpacked(t, c, spec.GetId(), content, get).Release()
	must(t, c.PutSpec(spec))
	must(t, c.Remember(cache.Remembered{Signed: list.Signed, ETag: list.ETag, Seen: "recorded"}))
	must(t, c.PutApplied(map[string]cache.Applied{spec.GetId(): {SpecDigest: spec.GetSpecDigest(), Revision: 1, SourceRevision: "abc"}}))
}

// sealedBy is the file of the key that seals an agent's specs; it lies in the cluster.
const sealedBy = "key"

func openCache(t *testing.T, dir string, fresh bool) *cache.Cache {
	t.Helper()
	must(t, os.MkdirAll(dir, 0o755))
	if fresh {
		must(t, os.WriteFile(filepath.Join(dir, sealedBy), seal.NewKey(), 0o600))
	}
	key, err := os.ReadFile(filepath.Join(dir, sealedBy))
	must(t, err)
	sealer, err := seal.Parse(key)
	must(t, err)
	c, err := cache.New(cache.Config{Dir: filepath.Join(dir, "data"), Sealer: sealer, Boot: "recorded"})
	must(t, err)
	return c
}

// pack compresses a database without its free pages.
func pack(t *testing.T, file, to string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	must(t, err)
	defer db.Close()
	small := filepath.Join(t.TempDir(), "small.db")
	_, err = db.ExecContext(t.Context(), "VACUUM INTO '"+small+"'")
	must(t, err)
	data, err := os.ReadFile(small)
	must(t, err)
	compress(t, data, to)
}

// packFolder compresses a folder.
func packFolder(t *testing.T, dir, to string) {
	t.Helper()
	data, err := exec.CommandContext(t.Context(), "tar", "--sort=name", "--owner=0", "--group=0", "--numeric-owner", "-c", "-C", dir, ".").Output()
	must(t, err)
	compress(t, data, to)
}

func compress(t *testing.T, data []byte, to string) {
	t.Helper()
	w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBestCompression))
	must(t, err)
	must(t, os.WriteFile(to, w.EncodeAll(data, nil), 0o600))
}

func decompress(t *testing.T, data []byte) []byte {
	t.Helper()
	d, err := zstd.NewReader(nil)
	must(t, err)
	defer d.Close()
	plain, err := d.DecodeAll(data, nil)
	must(t, err)
	return plain
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func hash(data []byte) string {
	sum := sha(data)
	return hex.EncodeToString(sum[:])
}
