package git

import (
	"bufio"
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/axle-cd/axle/hub/gitcache/gitref"
	"github.com/axle-cd/axle/hub/gitcache/references"
	"github.com/axle-cd/axle/internal/gitobject"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzListing checks that whatever a server sends, only valid names with full
// ids come out of it.
func FuzzListing(f *testing.F) {
	id := strings.Repeat("ab", 20)
	f.Add([]byte("003d" + id + " refs/heads/main\n0000"))
	f.Add([]byte("001e# service=git-upload-pack\n0000000eversion 2\n0000"))
	f.Add([]byte("0052" + id + " HEAD symref-target:refs/heads/main\n0000"))
	f.Add([]byte("0008ERR "))
	f.Fuzz(func(t *testing.T, raw []byte) {
		see := func(r gitref.Ref) error {
			if !gitobject.IsID(r.ID) || !gitref.Usable(r.Name) || strings.ContainsAny(r.Name, "\n\x00 ") || strings.HasPrefix(r.Name, gitref.Own) {
				t.Fatalf("ref %+v", r)
			}
			return nil
		}
		prefixes := []string{"refs/"}
		a, err := readAdvertisement(bufio.NewReader(bytes.NewReader(raw)), prefixes, see)
		if err == nil && a.Default != "" && !gitref.Usable(a.Default) {
			t.Fatalf("default branch %q", a.Default)
		}
		var l Listing
		if err := readRefs(bufio.NewReader(bytes.NewReader(raw)), &l, prefixes, see); err == nil && l.Default != "" && !gitref.Usable(l.Default) {
			t.Fatalf("default branch %q", l.Default)
		}
	})
}

// FuzzPacket checks that packets are read to their end or not at all.
func FuzzPacket(f *testing.F) {
	for _, s := range []string{"0000", "0005a", "0006a\n", "0003", "ffff", "00", "zzzz", "0004", "0009ERR x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r := bufio.NewReaderSize(bytes.NewReader(raw), 64)
		for range len(raw) + 1 {
			p, err := readPacket(r)
			if err != nil {
				return
			}
			if len(p.text) > 65531 || (p.flush || p.delim) && p.text != "" {
				t.Fatalf("packet %+v", p)
			}
		}
		t.Fatal("more packets than bytes")
	})
}

func FuzzURL(f *testing.F) {
	for _, s := range []string{"https://a/b", "git@a:b", "ssh://-x/y", "http://u:p@[::1]:80/x", "ext::sh"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		loc, _, _, err := ParseURL(s, true)
		if err != nil {
			return
		}
		out := loc.String()
		if strings.HasPrefix(out, "-") || strings.ContainsAny(out, "\n\x00 ") || strings.HasPrefix(loc.Host, "-") || strings.HasPrefix(loc.User, "-") {
			t.Fatalf("%q became %q", s, out)
		}
		loc.Home = false // only the short form has it
		again, _, _, err := ParseURL(out, true)
		if err != nil || again != loc {
			t.Fatalf("%q became %q, which is %+v, %v", s, out, again, err)
		}
	})
}

// FuzzAnswers reads any text as the answer to a batch of LFS, and as an error of GitHub's API.
func FuzzAnswers(f *testing.F) {
	oid := strings.Repeat("ab", 32)
	for _, text := range []string{`{"objects":[{"oid":"` + oid + `","actions":{"download":{"href":"https://git.example.com/x","header":{"A":"b"},"expires_in":1e300,"expires_at":"x"}}}]}`,
		`{"objects":[{"oid":"` + oid + `","error":{"code":404,"message":"no"}},{},null]}`, `{"transfer":"tus"}`, `{"objects":{}}`, `{"message":"a\nb"}`, `[]`, `null`, ``} {
		f.Add([]byte(text))
	}
	g, err := New(Config{})
	if err != nil {
		f.Fatal(err)
	}
	s, err := g.Server(Access{URL: "https://git.example.com/team/shop.git", Username: "me", Password: "secret"})
	if err != nil {
		f.Fatal(err)
	}
	l, err := s.lfsServer("")
	if err != nil {
		f.Fatal(err)
	}
	p := references.Pointer{OID: oid, Size: 7}
	app := &appLogin{api: "https://api.github.com", now: time.Now}
	f.Fuzz(func(t *testing.T, text []byte) {
		taken.Few(t, len(text), func() {
			objects, err := l.answer(bytes.NewReader(text))
			if err != nil {
				return
			}
			l.ended(p, objects, time.Now())
			if r, err := l.download(t.Context(), p, objects); err == nil {
				if _, password, _ := r.BasicAuth(); password == "secret" && r.URL.Host != "git.example.com" {
					t.Errorf("%s gets the secret", r.URL)
				}
			} else if strings.Contains(err.Error(), "\n") || len(err.Error()) > 4096 {
				t.Errorf("%q", err)
			}
		})
		taken.Few(t, len(text), func() {
			for _, status := range []int{401, 403, 404, 422, 500} {
				if words := app.refused(&http.Response{StatusCode: status, Header: http.Header{}}, text, "/app").Error(); strings.Contains(words, "\n") || len(words) > 4096 {
					t.Errorf("%q", words)
				}
			}
		})
	})
}
