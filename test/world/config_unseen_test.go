package world_test

import (
	"bytes"
	"compress/gzip"
	"database/sql"
	"encoding/base64"
	"errors"
	"io"
	"io/fs"
	"iter"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/klauspost/compress/zstd"
	_ "modernc.org/sqlite" // the hub's database
)

// forms are how a value may be written.
func forms(value string) [][]byte {
	all := [][]byte{[]byte(value)}
	// In base64 a text inside another one begins at one of three places.
	for lead := range 3 {
		encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("\x00", lead) + value))
		all = append(all, []byte(encoded[(lead*8+5)/6+1:len(encoded)-4]))
	}
	return all
}

// find returns the values that a text holds, also packed.
func (s *valuesStage) find(text []byte) (found []string) {
	for _, text := range append(unpacked(text, 3), text) {
		for _, value := range s.canaries {
			for _, form := range forms(value) {
				if bytes.Contains(text, form) {
					found = append(found, value)
					break
				}
			}
		}
	}
	return found
}

// packings are how compressed bytes begin, and how they do in base64.
var packings = []struct {
	magic, base64 string
	open          func(io.Reader) (io.Reader, error)
}{
	{"\x28\xb5\x2f\xfd", "KLUv/", func(r io.Reader) (io.Reader, error) {
		return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(64<<20))
	}},
	{"\x1f\x8b\x08", "H4sI", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
}

// unpacked returns everything compressed in a text, recursively.
func unpacked(text []byte, depth int) (all [][]byte) {
	if depth == 0 {
		return nil
	}
	for _, p := range packings {
		for at := range indexes(text, p.base64) {
			end := at + len(text[at:]) - len(bytes.TrimLeft(text[at:], "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"))
			raw := make([]byte, base64.RawStdEncoding.DecodedLen(end-at))
			n, _ := base64.RawStdEncoding.Decode(raw, text[at:end])
			all = append(all, unpacked(raw[:n], depth)...)
		}
		for at := range indexes(text, p.magic) {
			r, err := p.open(bytes.NewReader(text[at:]))
			if err != nil {
				continue
			}
			// Data after a file's end is an error, but what was read counts.
			inner, _ := io.ReadAll(io.LimitReader(r, 64<<20))
			if closer, ok := r.(*zstd.Decoder); ok {
				closer.Close()
			}
			if len(inner) > 0 {
				all = append(all, inner)
				all = append(all, unpacked(inner, depth-1)...)
			}
		}
	}
	return all
}

// indexes are the places where a text holds another one.
func indexes(text []byte, one string) iter.Seq[int] {
	return func(yield func(int) bool) {
		for from := 0; ; {
			at := bytes.Index(text[from:], []byte(one))
			if at < 0 || !yield(from+at) {
				return
			}
			from += at + 1
		}
	}
}

// unseen looks for every planted value everywhere.
func (s *valuesStage) unseen() {
	s.t.Helper()
	if len(s.canaries) != 20 {
		s.t.Fatalf("%d values were planted", len(s.canaries))
	}
	for _, value := range s.canaries {
		for _, text := range []string{"x" + value + "y", base64.StdEncoding.EncodeToString([]byte(value)), base64.StdEncoding.EncodeToString([]byte(`{"document":"` + value + `"}`)), packed(value), "a: " + base64.StdEncoding.EncodeToString([]byte(packed(packed(value)))) + "\n"} {
			if len(s.find([]byte(text))) == 0 {
				s.t.Fatalf("the judge does not see %q in %q", value, text)
			}
		}
	}
	looked := 0
	look := func(where string, text []byte) {
		looked++
		if found := s.find(text); len(found) > 0 {
			s.t.Errorf("%s holds %v", where, found)
		}
	}
	agent := s.agents["edge"]
	for _, file := range []string{s.Hub.Log, agent.Log} {
		text, err := os.ReadFile(file)
		s.must(err)
		look(file, text)
	}
	for _, dir := range []string{s.Hub.DataDir, agent.DataDir} {
		s.must(filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return ignoreGone(err)
			}
			text, err := os.ReadFile(path)
			look(path, text)
			return ignoreGone(err)
		}))
	}
	for _, command := range [][]string{
		{"services", "list"}, {"contexts", "list"}, {"contexts", "get", "prod"}, {"outputs", "list"}, {"events", "--limit", "1000"}, {"repos", "list"},
		{"clusters", "list"}, {"clusters", "get", "edge"}, {"config", "backends"}, {"config", "migrate", "--status"}, {"hub", "status"},
	} {
		look(strings.Join(command, " "), []byte(s.axle(append(command, "-o", "json")...)))
	}
	services, err := s.Services(s.t.Context())
	s.must(err)
	for _, one := range services {
		for _, verb := range [][]string{{"get"}, {"config"}, {"revisions"}, {"tests"}} {
			look("services "+verb[0]+" "+one.Name, []byte(s.axle("services", verb[0], "edge/"+one.Name, "-o", "json")))
		}
	}
	look("the hub's metrics", s.download(s.Hub.URL+"/metrics"))
	look("the agent's metrics", s.download(s.metrics))
	for what, text := range s.said {
		look(what, []byte(text))
	}
	for table, rows := range s.rows() {
		look("table "+table, rows)
	}
	for _, kind := range []string{"events", "configmaps"} {
		result, err := s.Kubectl(s.t.Context(), "edge", "get", kind, "-A", "-o", "json")
		s.must(err)
		look("the cluster's "+kind, []byte(result.Out))
	}
	result, err := s.Kubectl(s.t.Context(), "edge", "get", "secrets", "-n", "axle-system", "-o", "json")
	s.must(err)
	look("the agent's own Secrets", []byte(result.Out))
	if looked < 40 {
		s.t.Errorf("only %d places were looked at", looked)
	}
}

// packed is a text as zstd.
func packed(text string) string {
	w, _ := zstd.NewWriter(nil)
	return string(w.EncodeAll([]byte("# "+text+" #"), nil))
}

// rows returns every row of the hub's database, by table: a file of it has a
// long value in pieces.
func (s *valuesStage) rows() map[string][]byte {
	s.t.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(s.Hub.DataDir, "hub.db")+"?mode=ro&_pragma=busy_timeout(5000)")
	s.must(err)
	defer db.Close()
	names := s.column(db, "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name")
	all := map[string][]byte{}
	for _, name := range names {
		rows, err := db.QueryContext(s.t.Context(), "SELECT * FROM "+name)
		s.must(err)
		columns, err := rows.Columns()
		s.must(err)
		values := make([]any, len(columns))
		for i := range values {
			values[i] = new(sql.RawBytes)
		}
		for rows.Next() {
			s.must(rows.Scan(values...))
			for _, v := range values {
				all[name] = append(append(all[name], *v.(*sql.RawBytes)...), '\n')
			}
		}
		s.must(errors.Join(rows.Err(), rows.Close()))
	}
	for _, table := range []string{"services", "diffs", "statuses", "events"} {
		if len(all[table]) == 0 {
			s.t.Errorf("table %s is empty", table)
		}
	}
	return all
}

func (s *valuesStage) column(db *sql.DB, query string) (texts []string) {
	s.t.Helper()
	rows, err := db.QueryContext(s.t.Context(), query)
	s.must(err)
	for rows.Next() {
		var text string
		s.must(rows.Scan(&text))
		texts = append(texts, text)
	}
	s.must(errors.Join(rows.Err(), rows.Close()))
	return texts
}

func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func (s *valuesStage) download(url string) []byte {
	s.t.Helper()
	response, err := http.Get(url)
	s.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	s.must(err)
	return text
}
