package world_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"connectrpc.com/connect"
	"github.com/klauspost/compress/zstd"

	hubv1 "github.com/axle-cd/axle/api/hub/v1"
	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/test/gitserver"
	"github.com/axle-cd/axle/test/world"
)

// What those send who mean harm.
var _ = add(map[string]scenario{
	"hostile_names":               {play: hostileNames},
	"hostile_tarballs_and_charts": {play: hostileTarballs},
	"hostile_trees":               {play: hostileTrees},
})

// tryService declares a service that the hub may refuse as invalid, and
// reports whether it did not.
func (s *cdn) tryService(cluster, name, repo, ref, folder string) bool {
	s.t.Helper()
	_, err := s.api.Services.Create(s.t.Context(), connect.NewRequest(&hubv1.CreateServiceRequest{
		Ref: &hubv1.ServiceRef{Cluster: cluster, Name: name}, Spec: &hubv1.ServiceSpec{Repository: repo, Git: &hubv1.Git{Ref: ref, Folder: folder}},
	}))
	if errcode.Is(err, errcode.Invalid) || errcode.Is(err, errcode.Unprocessable) {
		return false
	}
	if err != nil && strings.Contains(err.Error(), "UTF-8") {
		return false // it does not even fit the protocol
	}
	s.must(err)
	s.run.Declared = append(s.run.Declared, cluster+"/"+name)
	return true
}

// hostileNames has folders and refs whose names are options, contain line breaks or
// are not text. Each is delivered as it is or rejected with an error, and other
// services are delivered.
func hostileNames(s *cdn) {
	s.agent("edge")
	folders := map[string]string{"dash": "-rf", "option": "--upload-pack=id", "line": "new\nline", "bytes": "\xff\xfe", "quote": "it's \"so\"", "up": "../app", "glob": "*", "ref": "HEAD:app"}
	s.must(s.Git.Create(s.t.Context(), "fleet"))
	beside := map[string]gitserver.Content{"odd/version.yaml": files("odd", 1)["odd/version.yaml"], "odd/a\nb.yaml": "a: b\n", "odd/-x": "y\n"}
	for i, folder := range []string{"dash", "option", "line", "bytes", "quote", "glob", "ref"} {
		for path, text := range files(folders[folder], 10+i) {
			beside[path] = text
		}
	}
	id := s.push("fleet", "app", 1, beside)
	for _, ref := range []string{"refs/heads/-d", "refs/heads/--upload-pack=id", "refs/heads/\xff\xfe", "refs/heads/a'b\"c", "refs/tags/main-tag"} {
		s.must(s.Git.SetRef(s.t.Context(), "fleet", ref, id))
	}
	s.add("fleet", s.Git.URL("fleet"))
	s.service("edge", "app", "fleet", "app")
	s.arrives("edge/app", 1)
	accepted := map[string]int{}
	for i, name := range []string{"dash", "option", "line", "bytes", "quote", "glob", "ref"} {
		if s.tryService("edge", name, "fleet", "main", folders[name]) {
			accepted[name] = 10 + i
		}
	}
	if s.tryService("edge", "up", "fleet", "main", folders["up"]) {
		s.t.Error("a folder above the repository was accepted")
	}
	if s.tryService("edge", "no-ref", "fleet", "a\nb", "app") {
		s.says("edge", "no-ref", "a\\nb")
		s.wants("edge/no-ref", 0)
	}
	for i, ref := range []string{"-d", "refs/heads/-d", "--upload-pack=id", "refs/heads/\xff\xfe", "a'b\"c"} {
		if s.tryService("edge", fmt.Sprintf("ref-%d", i), "fleet", ref, "app") {
			accepted[fmt.Sprintf("ref-%d", i)] = 1
		}
	}
	for name, version := range accepted {
		s.arrives("edge/"+name, version)
		s.wants("edge/"+name, version)
	}
	s.t.Logf("delivered: %v; the others were refused", accepted)
	if s.tryService("edge", "odd", "fleet", "main", "odd") {
		s.says("edge", "odd", "control")
		s.wants("edge/odd", 0)
	}
	s.push("fleet", "app", 2)
}

// hostileTrees has what can be in a Git tree and must not reach a cluster: each
// service of such a folder reports why, and the others continue.
func hostileTrees(s *cdn) {
	s.agent("edge")
	s.must(s.Git.Create(s.t.Context(), "fleet"))
	blob, err := s.Git.Blob(s.t.Context(), "fleet", "x: y\n")
	s.must(err)
	tree := func(entries ...gitserver.TreeEntry) string {
		id, err := s.Git.RawTree(s.t.Context(), "fleet", entries...)
		s.must(err)
		return id
	}
	// Ten million files in eight objects.
	million := tree(entries("100644", blob, 10)...)
	for range 6 {
		million = tree(entries("40000", million, 10)...)
	}
	s.push("fleet", "app", 1, map[string]gitserver.Content{
		"looping/a": gitserver.Link("b"), "looping/b": gitserver.Link("a"),
		"colliding/Config.yaml": "x: y\n", "colliding/config.yaml": "x: z\n",
		"deep/" + strings.Repeat("d/", 200) + "a.yaml": "x: y\n",
	})
	main, err := s.Git.Resolve(s.t.Context(), "fleet", "main")
	s.must(err)
	bomb, err := s.Git.CommitTree(s.t.Context(), "fleet", tree(gitserver.TreeEntry{Mode: "40000", Name: "million", ID: million}), "bomb", main)
	s.must(err)
	s.must(s.Git.SetRef(s.t.Context(), "fleet", "refs/heads/bomb", bomb))
	s.run.Commits["fleet"] = append(s.run.Commits["fleet"], bomb)
	s.add("fleet", s.Git.URL("fleet"))
	s.service("edge", "app", "fleet", "app")
	for name, says := range map[string]string{"colliding": "onfig.yaml", "deep": "deep"} {
		s.service("edge", name, "fleet", name)
		s.wants("edge/"+name, 0)
		s.says("edge", name, says)
	}
	s.declare("edge", "million", &hubv1.ServiceSpec{Repository: "fleet", Git: &hubv1.Git{Ref: "bomb", Folder: "million"}})
	s.wants("edge/million", 0)
	s.says("edge", "million", "files")
	s.arrives("edge/app", 1)
	s.push("fleet", "app", 2)
}

// entries are n entries of a tree for the same object.
func entries(mode, id string, n int) []gitserver.TreeEntry {
	list := make([]gitserver.TreeEntry, n)
	for i := range list {
		list[i] = gitserver.TreeEntry{Mode: mode, Name: fmt.Sprintf("%04d.yaml", i), ID: id}
	}
	return list
}

// hostileTarballs puts a proxy between agents and hub that answers each request for a
// tarball with another hostile one. No agent accepts any; without the proxy they get
// the right one.
func hostileTarballs(s *cdn) {
	liar := s.newLiar()
	s.url = liar.url
	s.simple()
	s.hostileCharts()
	liar.lies.Store(true)
	s.push("fleet", "app", 2)
	s.until("each lie was told", func() error {
		if n := int(liar.told.Load()); n < 2*len(hostile) {
			return fmt.Errorf("%d of %d", n, 2*len(hostile))
		}
		return nil
	})
	if got := s.agents["edge"].Version("app"); got != 1 {
		s.t.Errorf("the agent took version %d from a liar", got)
	}
	liar.lies.Store(false)
	s.arrives("edge/app", 2)
	var refused int
	for _, step := range s.agents["edge"].Steps() {
		if step.Kind == world.StepRefused || step.Kind == world.StepError {
			refused++
		}
	}
	if refused == 0 {
		s.t.Error("no lie was noticed: the scenario proves nothing")
	}
}

// loops is the one of hostile whose links lead to each other and nowhere else:
// it is delivered as it is and must not keep anybody busy.
const loops = 3

// hostileCharts serves a chart repository in which all charts but one are
// hostile: that one is delivered, the others say why they are not.
func (s *cdn) hostileCharts() {
	s.t.Helper()
	chart := func(name string, headers ...*tar.Header) []byte {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		t := tar.NewWriter(z)
		for path, text := range map[string]string{
			name + "/Chart.yaml":  "apiVersion: v2\nname: " + name + "\nversion: 1.0.0\n",
			name + "/values.yaml": "data:\n  version: \"7\"\n",
		} {
			s.must(t.WriteHeader(&tar.Header{Name: path, Typeflag: tar.TypeReg, Mode: 0o644, Size: int64(len(text))}))
			_, err := io.WriteString(t, text)
			s.must(err)
		}
		for _, h := range headers {
			copied := *h
			copied.Name = name + "/" + copied.Name
			if strings.HasPrefix(h.Name, "/") {
				copied.Name = h.Name
			}
			s.must(t.WriteHeader(&copied))
			if h.Size > 1<<20 {
				s.must(z.Close()) // the header is written
				zeros(&out, h.Size)
				return out.Bytes()
			}
			_, err := t.Write(make([]byte, h.Size))
			s.must(err)
		}
		s.must(errors.Join(t.Close(), z.Close()))
		return out.Bytes()
	}
	charts := map[string][]byte{"good": chart("good")}
	for i, headers := range hostile {
		if i < hostileEverywhere {
			charts[fmt.Sprintf("bad-%d", i)] = chart(fmt.Sprintf("bad-%d", i), headers...)
		}
	}
	harmless := map[string]bool{"good": true, fmt.Sprintf("bad-%d", loops): true}
	index := "apiVersion: v1\nentries:\n"
	for name := range charts {
		index += fmt.Sprintf("  %s:\n  - {name: %s, version: 1.0.0, urls: [%s-1.0.0.tgz]}\n", name, name, name)
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	s.must(err)
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := strings.TrimSuffix(strings.TrimPrefix(r.URL.Path, "/"), "-1.0.0.tgz")
		switch body, ok := charts[name]; {
		case r.URL.Path == "/index.yaml":
			_, _ = io.WriteString(w, index)
		case ok:
			_, _ = w.Write(body)
		default:
			http.NotFound(w, r)
		}
	})}
	go func() { _ = server.Serve(listener) }()
	s.closers = append(s.closers, func() { _ = server.Close() })
	for name := range charts {
		s.declare("edge", name, &hubv1.ServiceSpec{Helm: &hubv1.Helm{Url: "http://" + listener.Addr().String(), Chart: name, Version: "1.0.0"}})
		if harmless[name] {
			s.wants("edge/"+name, 7)
			continue
		}
		s.wants("edge/"+name, 0)
	}
	for name := range harmless {
		s.arrives("edge/"+name, 7)
	}
	s.until("each hostile chart is refused with words", func() error {
		for name := range charts {
			if harmless[name] {
				continue
			}
			got, err := s.api.Services.Get(s.t.Context(), connect.NewRequest(&hubv1.GetServiceRequest{Ref: &hubv1.ServiceRef{Cluster: "edge", Name: name}}))
			if err != nil {
				return err
			}
			if got.Msg.GetDesiredDigest() != "" {
				return fmt.Errorf("%s is delivered", name)
			}
			if len(got.Msg.GetErrors()) == 0 {
				return fmt.Errorf("%s says nothing", name)
			}
		}
		return nil
	})
}

// zeros writes gzip streams that together unpack to more than n zeros.
func zeros(w io.Writer, n int64) {
	var one bytes.Buffer
	z := gzip.NewWriter(&one)
	_, _ = z.Write(make([]byte, 64<<20)) // to memory
	_ = z.Close()
	for ; n >= 0; n -= 64 << 20 {
		_, _ = w.Write(one.Bytes())
	}
}

// hostileEverywhere is how many of them are hostile anywhere; the rest only have the
// wrong digest.
const hostileEverywhere = 11

// hostile are the headers of tarballs that must not be unpacked.
var hostile = [][]*tar.Header{
	{{Name: "../../escape.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{{Name: "/absolute.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{{Name: "link", Typeflag: tar.TypeSymlink, Linkname: "/etc"}, {Name: "link/x.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{{Name: "a", Typeflag: tar.TypeSymlink, Linkname: "b"}, {Name: "b", Typeflag: tar.TypeSymlink, Linkname: "a"}},
	{{Name: "hard", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
	{{Name: "null", Typeflag: tar.TypeChar, Devmajor: 1, Devminor: 3, Mode: 0o666}},
	{{Name: "disk", Typeflag: tar.TypeBlock, Devmajor: 8, Mode: 0o666}},
	{{Name: "pipe", Typeflag: tar.TypeFifo, Mode: 0o666}},
	{{Name: "a.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}, {Name: "A.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{{Name: "a.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}, {Name: "a.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{{Name: "bomb.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 2 << 30}},
	{{Name: "version.yaml", Typeflag: tar.TypeReg, Mode: 0o644, Size: 4}},
	{},
}

// liar is a proxy between agents and the hub.
type liar struct {
	url  string
	lies atomic.Bool
	told atomic.Int64
}

func (s *cdn) newLiar() *liar {
	s.t.Helper()
	target, err := url.Parse(s.Origin())
	s.must(err)
	var lc net.ListenConfig
	listener, err := lc.Listen(s.t.Context(), "tcp", "127.0.0.1:0")
	s.must(err)
	l := &liar{url: "http://" + listener.Addr().String()}
	honest := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	server := &http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.lies.Load() || !strings.Contains(r.URL.Path, "/tarballs/") {
			honest.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/zstd")
		w.Header().Set("Etag", fmt.Sprintf("\"%d\"", l.told.Load()))
		lie(w, hostile[int(l.told.Add(1)-1)%len(hostile)])
	})}
	go func() { _ = server.Serve(listener) }()
	s.closers = append(s.closers, func() { _ = server.Close() })
	return l
}

// lie writes a tarball with these entries; large ones are zeros, which compress well.
func lie(w io.Writer, headers []*tar.Header) {
	z, err := zstd.NewWriter(w)
	if err != nil {
		return
	}
	defer z.Close()
	t := tar.NewWriter(z)
	defer t.Close()
	zeros := bytes.Repeat([]byte{0}, 1<<20)
	for _, h := range headers {
		copied := *h
		if t.WriteHeader(&copied) != nil {
			return
		}
		for left := h.Size; left > 0; left -= int64(len(zeros)) {
			if _, err := t.Write(zeros[:min(left, int64(len(zeros)))]); err != nil {
				return
			}
		}
	}
}
