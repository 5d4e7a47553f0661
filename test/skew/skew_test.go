package skew_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protodesc"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/reflect/protoregistry"
	"google.golang.org/protobuf/testing/protocmp"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/dynamicpb"

	agentv1 "github.com/axle-cd/axle/api/agent/v1"
	"github.com/axle-cd/axle/hub/hubtest"
	"github.com/axle-cd/axle/internal/digest"
	"github.com/axle-cd/axle/internal/eventually"
)

func sha(data []byte) [32]byte { return sha256.Sum256(data) }

// calls are what a record has, each with the message that its answer is.
var calls = map[string]string{
	"poll": "SignedDesired", "services": "ServicesResponse", "report": "ReportResponse", "ping": "PingResponse", "idle poll": "",
	"tarball": "", "tunnel": "", "register": "RegisterResponse", "renew": "RenewResponse",
}

// load reads a version's record.
func load(t *testing.T, minor int) (r record) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder(minor), recordFile))
	must(t, err)
	must(t, json.Unmarshal(text, &r))
	have := map[string]bool{}
	for _, x := range r.Exchanges {
		have[x.Name] = true
	}
	for name := range calls {
		if !have[name] {
			t.Fatalf("the record of 0.%d has no %s", minor, name)
		}
	}
	return r
}

// shifted is the machine's clock, at another time.
type shifted struct{ by time.Duration }

func (s shifted) Now() time.Time                         { return time.Now().Add(s.by) }
func (s shifted) After(d time.Duration) <-chan time.Time { return time.After(d) }

// oldHub is today's hub on the database and the cache of a recorded one, at the time of
// the record, without some folders of the cache. The upstream is gone.
func oldHub(t *testing.T, minor int, r record, without ...string) *hubtest.Hub {
	t.Helper()
	return hubOn(t, folder(minor), r.At, "none", without...)
}

// hubOn is oldHub for any folder with a database, a key and a cache.
func hubOn(t *testing.T, from string, at int64, adminToken string, without ...string) *hubtest.Hub {
	t.Helper()
	data := t.TempDir()
	packed, err := os.ReadFile(filepath.Join(from, databaseFile))
	must(t, err)
	must(t, os.WriteFile(filepath.Join(data, "hub.db"), decompress(t, packed), 0o600))
	copyFile(t, filepath.Join(from, keyFile), filepath.Join(data, keyFile))
	packed, err = os.ReadFile(filepath.Join(from, cacheFile))
	must(t, err)
	must(t, os.Mkdir(filepath.Join(data, "cache"), 0o700))
	unpack := exec.CommandContext(t.Context(), "tar", "-x", "-C", filepath.Join(data, "cache"))
	unpack.Stdin = bytes.NewReader(decompress(t, packed))
	must(t, unpack.Run())
	for _, dir := range without {
		must(t, os.RemoveAll(filepath.Join(data, "cache", dir)))
	}
	clock := shifted{time.Until(time.UnixMicro(at))}
	return hubtest.New(t, hubtest.Config{DataDir: data, AdminToken: adminToken, Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, Clock: clock}})
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	must(t, err)
	must(t, os.WriteFile(to, data, 0o600))
}

// each runs a test for every record, and says how many are of releases.
func each(t *testing.T, test func(t *testing.T, minor int, r record)) {
	t.Helper()
	list := minors(t)
	if len(list) == 0 {
		t.Fatal("there is no record")
	}
	releases, of := 0, released(t)
	for _, minor := range list {
		if of[minor] != "" {
			releases++
		}
		t.Run(fmt.Sprintf("0.%d", minor), func(t *testing.T) { test(t, minor, load(t, minor)) })
	}
	if releases == 0 {
		t.Errorf("none of %v is the record of a release", list)
	}
}

// A hub of today, on the database of an older one, answers the recorded requests of its
// agents with what they read from their own hub.
func TestOlderAgentsWorkWithThisHub(t *testing.T) {
	each(t, func(t *testing.T, minor int, r record) {
		h := oldHub(t, minor, r)
		if have, want := schemaOf(t, filepath.Join(h.DataDir, "hub.db")), schemaOf(t, filepath.Join(hubtest.Folder(t), "hub.db")); !bytes.Equal(have, want) {
			t.Errorf("an upgraded database has another schema than a new one:\n%s", cmp.Diff(string(want), string(have)))
		}
		types := messages(t, minor)
		for _, x := range r.Exchanges {
			t.Run(x.Name, func(t *testing.T) {
				status, header, said, first := replay(t, h.URL, x)
				if status != x.Status {
					t.Fatalf("status %d, and it was %d: %s", status, x.Status, said)
				}
				if x.Name == "tunnel" {
					if !bytes.Contains(first, []byte("PRI * HTTP/2.0")) {
						t.Errorf("the tunnel begins with %q", first)
					}
					return
				}
				for _, name := range []string{"Axle-Position", "Content-Type", "Etag"} {
					if (header.Get(name) == "") != (x.Answer.Get(name) == "") {
						t.Errorf("%s is %q, and it was %q", name, header.Get(name), x.Answer.Get(name))
					}
				}
				if x.Name == "tarball" {
					content(t, r, said)
				}
				if kind := calls[x.Name]; kind != "" {
					was, is := read(t, types, kind, x.Answer, x.Said), read(t, types, kind, header, said)
					if diff := cmp.Diff(was, is, protocmp.Transform()); diff != "" {
						t.Errorf("an agent of 0.%d reads something else (-its hub +this hub):\n%s", minor, diff)
					}
				}
			})
		}
	})
}

// replay sends a recorded request, and returns for a tunnel its first bytes.
func replay(t *testing.T, url string, x exchange) (status int, header http.Header, said, first []byte) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, x.Method, url+x.Path, bytes.NewReader(x.Body))
	must(t, err)
	request.Header = x.Request.Clone()
	answer, err := (&http.Transport{DisableCompression: true}).RoundTrip(request)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusSwitchingProtocols {
		first = make([]byte, 64)
		n, err := io.ReadAtLeast(answer.Body, first, 32)
		must(t, err)
		return answer.StatusCode, answer.Header, nil, first[:n]
	}
	said, err = io.ReadAll(answer.Body)
	must(t, err)
	return answer.StatusCode, answer.Header, said, nil
}

// messages are the types of a recorded protocol.
func messages(t *testing.T, minor int) *protoregistry.Files {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(folder(minor), descriptorFile))
	must(t, err)
	set := &descriptorpb.FileDescriptorSet{}
	must(t, proto.Unmarshal(data, set))
	files, err := protodesc.NewFiles(set)
	must(t, err)
	return files
}

// volatile are the fields that differ with each answer.
var volatile = map[protoreflect.Name]bool{
	"position": true, "signature": true, "deploy_token": true, "deploy_token_expires_at": true, "signing_keys_signature": true, "more_signatures": true,
}

// inner are the messages that travel as bytes, because they are signed.
var inner = map[string]string{"SignedDesired": "Desired", "ServicesResponse": "ServicesResponse"}

// read decodes an answer as an agent of that version does, without what is volatile.
func read(t *testing.T, types *protoregistry.Files, kind string, header http.Header, said []byte) proto.Message {
	t.Helper()
	m := decode(t, types, kind, decoded(t, header, said))
	payload := m.ProtoReflect().Descriptor().Fields().ByName("desired")
	if payload == nil {
		payload = m.ProtoReflect().Descriptor().Fields().ByName("signed")
	}
	if name := inner[kind]; name != "" {
		m = decode(t, types, name, m.ProtoReflect().Get(payload).Bytes())
	}
	m.ProtoReflect().Range(func(f protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		if volatile[f.Name()] {
			m.ProtoReflect().Clear(f)
		}
		return true
	})
	return m
}

func decode(t *testing.T, types *protoregistry.Files, kind string, data []byte) proto.Message {
	t.Helper()
	d, err := types.FindDescriptorByName(protoreflect.FullName("axle.agent.v1." + kind))
	must(t, err)
	message, ok := d.(protoreflect.MessageDescriptor)
	if !ok {
		t.Fatalf("%s is no message", kind)
	}
	m := dynamicpb.NewMessage(message)
	must(t, proto.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, m))
	return m
}

func decoded(t *testing.T, header http.Header, said []byte) []byte {
	t.Helper()
	switch encoding := header.Get("Content-Encoding"); encoding {
	case "zstd":
		return decompress(t, said)
	case "gzip":
		r, err := gzip.NewReader(bytes.NewReader(said))
		must(t, err)
		plain, err := io.ReadAll(r)
		must(t, err)
		return plain
	}
	return said
}

// content holds that a tarball is the recorded content.
func content(t *testing.T, r record, said []byte) {
	t.Helper()
	tree := unpacked(t, openCache(t, t.TempDir(), true), r.Service, r.Tarball, func(context.Context, digest.Digest) (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(said)), nil
	})
	defer tree.Release()
	holds(t, tree.Dir)
}

// holds looks for the recorded file in an agent's tree.
func holds(t *testing.T, dir string) {
	t.Helper()
	if text, err := os.ReadFile(filepath.Join(dir, "config.yaml")); err != nil || !strings.Contains(string(text), "word: one") {
		t.Errorf("the content is %q, %v", text, err)
	}
}

// The tarballs that an older hub kept are served, and made anew from the mirrors that
// it kept: its upstream is gone.
func TestOlderCachesAreServed(t *testing.T) {
	each(t, func(t *testing.T, minor int, r record) {
		var tarball exchange
		for _, x := range r.Exchanges {
			if x.Name == "tarball" {
				tarball = x
			}
		}
		for _, lost := range []string{"mirrors", "tarballs"} {
			t.Run("without "+lost, func(t *testing.T) {
				h := oldHub(t, minor, r, lost)
				eventually.For(t, limit, "the hub opens what it kept, and serves it", func() error {
					status, _, said, _ := replay(t, h.URL, tarball)
					if status != http.StatusOK {
						return fmt.Errorf("status %d: %s", status, said)
					}
					content(t, r, said)
					return nil
				})
			})
		}
	})
}

// The rows that an older replica put into the feed are read by one of today, from the
// first to the last, and each is about something that it knows.
func TestOlderFeedsAreRead(t *testing.T) {
	each(t, func(t *testing.T, minor int, r record) {
		h := oldHub(t, minor, r)
		rows, err := h.Parts().Store.ChangesAfter(t.Context(), 0, 1000)
		must(t, err)
		kinds := map[string]bool{}
		for _, row := range rows {
			kinds[string(row.Kind)] = true
		}
		for _, kind := range []string{"cluster", "repository", "source", "head", "service", "token"} {
			if !kinds[kind] {
				t.Errorf("no row about a %s: %v", kind, rows)
			}
		}
	})
}

// An agent of today takes the recorded answers of an older hub.
func TestThisAgentWorksWithOlderHubs(t *testing.T) {
	each(t, func(t *testing.T, minor int, r record) {
		byName := map[string]exchange{}
		for _, x := range r.Exchanges {
			byName[x.Name] = x
		}
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
			x := byName["idle poll"]
			if q.Header.Get("If-None-Match") == "" {
				for _, one := range r.Exchanges {
					if one.Path == q.URL.Path && one.Name != "idle poll" {
						x = one
					}
				}
			}
			for name, values := range x.Answer {
				w.Header()[name] = values
			}
			w.WriteHeader(x.Status)
			_, _ = w.Write(x.Said) // the client checks what it got
		}))
		defer server.Close()
		c := client(t, server.URL, nil, r)
		list, err := c.Desired(t.Context(), "")
		must(t, err)
		if n := len(list.List.Desired.GetServices()); n == 0 {
			t.Error("the list is empty")
		}
		specs, err := c.Services(t.Context(), []string{r.Service})
		must(t, err)
		unpacked(t, openCache(t, t.TempDir(), true), r.Service, r.Tarball, downloadOf(c)).Release()
		if specs.GetServices()[0].GetSecrets()["password"] != "recorded" {
			t.Errorf("the spec is %v", specs.GetServices()[0])
		}
		if _, err := c.Report(t.Context(), &agentv1.ReportRequest{BootId: "boot-1", Sequence: 1, Services: []*agentv1.ServiceReport{report(t, r, specs.GetServices()[0])}}); err != nil {
			t.Error(err)
		}
		if idle, err := c.Desired(t.Context(), list.List.ETag); err != nil || idle.List != nil {
			t.Errorf("an idle poll: %v, %v", idle.List, err)
		}
		if err := c.Ping(t.Context(), &agentv1.PingRequest{BootId: "boot-1", ProtocolVersion: 2}); err != nil {
			t.Error(err)
		}
	})
}

// An older backup is restored, and an older folder of an agent opened, with all that is
// in them.
func TestOlderFilesAreRead(t *testing.T) {
	each(t, func(t *testing.T, minor int, r record) {
		at := shifted{time.Until(time.UnixMicro(r.At))}
		config := hubtest.Config{DataDir: t.TempDir(), AdminToken: "none", Hub: hubtest.HubConfig{AllowHTTPUpstreams: true, Clock: at}}
		copyFile(t, filepath.Join(folder(minor), keyFile), filepath.Join(config.DataDir, keyFile))
		must(t, hubtest.Restore(t.Context(), config, filepath.Join(folder(minor), backupFile)))
		h := hubtest.New(t, config)
		if have, err := h.Parts().Fleet.ClusterNamed(t.Context(), "edge-1"); err != nil || have.ID != r.Cluster {
			t.Errorf("the restored hub has %+v, %v", have, err)
		}

		dir := t.TempDir()
		must(t, os.CopyFS(dir, os.DirFS(filepath.Join(folder(minor), agentDir))))
		c := openCache(t, dir, false)
		specs, err := c.Specs()
		must(t, err)
		if specs[r.Service].GetConfiguration()["region"] != "north" || specs[r.Service].GetSecrets()["password"] != "recorded" {
			t.Errorf("the agent's specs are %v", specs)
		}
		kept, err := c.Recall()
		must(t, err)
		signed := &agentv1.SignedDesired{}
		if err := proto.Unmarshal(kept.Signed, signed); err != nil || len(signed.GetDesired()) == 0 || kept.ETag == "" {
			t.Errorf("the agent's list is %+v, %v", kept, err)
		}
		tree := unpacked(t, c, r.Service, r.Tarball, func(context.Context, digest.Digest) (io.ReadCloser, error) {
			return nil, errors.New("the tree is not read from the agent's disk")
		})
		defer tree.Release()
		holds(t, tree.Dir)
		if c.Applied()[r.Service].SourceRevision != "abc" {
			t.Errorf("what the agent applied is %v", c.Applied())
		}
	})
}
