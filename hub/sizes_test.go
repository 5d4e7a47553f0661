package hub_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/axle-cd/axle/hub/hubtest"
)

// packedTo is a text of one repeated piece, packed.
func packedTo(t *testing.T, head, piece, tail string, size int) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	for _, part := range []string{head, strings.Repeat(piece, size/len(piece)), tail} {
		if _, err := io.WriteString(z, part); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// sent is a body as it is posted.
type sent struct {
	kind, packing string
	body          []byte
}

// costOf posts a body and returns the answer, and what the hub allocated meanwhile.
func costOf(t *testing.T, h *hubtest.Hub, token, path string, s sent) (status int, text string, bytesTaken int) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.URL+path, bytes.NewReader(s.body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", s.kind)
	if s.packing != "" {
		r.Header.Set("Content-Encoding", s.packing)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	return answer.StatusCode, string(said), int(after.TotalAlloc - before.TotalAlloc)
}

// accountWithout makes an account without any right and returns its token.
func accountWithout(t *testing.T, h *hubtest.Hub) string {
	t.Helper()
	status, text, _ := costOf(t, h, h.AdminToken, "/axle.hub.v1.Users/Create", sent{"application/json", "", []byte(`{"email":"guest@example.com","tokenScopes":["read","write"]}`)})
	var made struct{ Token string }
	if err := json.Unmarshal([]byte(text), &made); err != nil || made.Token == "" {
		t.Fatalf("%d %s, %v", status, text, err)
	}
	return made.Token
}

// TestRightsComeBeforeDecoding: 8 KiB of gzip, which are 8 MiB of elements of two bytes,
// took 1 GB of memory before an account without any right got its 403.
func TestRightsComeBeforeDecoding(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	guest := accountWithout(t, h)
	const large, apply = 8<<20 - 100, "/axle.hub.v1.Services/Apply"
	spec := string(protowire.AppendVarint([]byte{0x12}, large)) // the field spec, and in it sources without anything
	elements := packedTo(t, spec, "\x22\x00", "", large)
	objects := packedTo(t, `{"spec":{"sources":[{}`, ",{}", `]}}`, large)
	for name, s := range map[string]sent{
		"packed elements": {"application/proto", "gzip", elements},
		"packed objects":  {"application/json", "gzip", objects},
		"long":            {"application/json", "", []byte(`{"spec":{"sources":[{}` + strings.Repeat(",{}", 1<<20) + `]}}`)},
	} {
		status, text, took := costOf(t, h, guest, apply, s)
		t.Logf("without a right, %s: %d bytes took %d KiB", name, len(s.body), took>>10)
		if status != http.StatusForbidden || !strings.Contains(text, "guest@example.com may not write here") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if took > 8<<20 {
			t.Errorf("%s: an account without any right took %d MiB", name, took>>20)
		}
		// Who has the right takes what the message may become, and no more.
		status, text, took = costOf(t, h, h.AdminToken, apply, s)
		t.Logf("with the right, %s: %d bytes took %d KiB", name, len(s.body), took>>10)
		if status != http.StatusBadRequest || !strings.Contains(text, "larger in memory") {
			t.Errorf("%s: %d %s", name, status, text)
		}
		if took > 48<<20 {
			t.Errorf("%s: with the right it took %d MiB", name, took>>20)
		}
	}
	// What every account may do takes little.
	status, text, took := costOf(t, h, guest, "/axle.hub.v1.Tokens/Create", sent{"application/json", "gzip", packedTo(t, `{"scopes":[""`, `,""`, `]}`, large)})
	if status == http.StatusOK || !strings.Contains(text, "64 KiB") || took > 8<<20 {
		t.Errorf("a token: %d %s, took %d MiB", status, text, took>>20)
	}
	// The record of a small call names what it was about, as before.
	status, text, _ = costOf(t, h, guest, apply, sent{"application/json", "", []byte(`{"ref":{"cluster":"edge-1","name":"web"}}`)})
	if status != http.StatusForbidden {
		t.Errorf("%d %s", status, text)
	}
}

// TestTextsWithinAMessageAreBounded: a text of JSON in a field of a message is one of its
// bytes for the message's bound, and is decoded for itself.
func TestTextsWithinAMessageAreBounded(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	bomb := `{"a":[[]` + strings.Repeat(",[]", 2<<20) + `]}`
	quoted, err := json.Marshal(bomb)
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{
		"Clusters/Create": `{"name": "edge-1", "metadata": %s}`,
		"Contexts/Create": `{"context": {"name": "c", "values": %s}}`,
		"Outputs/Put":     `{"outputs": {"name": "c", "values": %s}}`,
	} {
		status, text, took := costOf(t, h, h.AdminToken, "/axle.hub.v1."+path, sent{"application/json", "", fmt.Appendf(nil, body, quoted)})
		t.Logf("%s: %d MiB of text took %d MiB", path, len(bomb)>>20, took>>20)
		if status == http.StatusOK || status == http.StatusNotFound || took > 64<<20 {
			t.Errorf("%s: %d %s; %d MiB of text took %d MiB", path, status, text, len(bomb)>>20, took>>20)
		}
	}
}

// TestContextsAreBounded holds that the context of a global service, which is decoded for
// each cluster, is not nested without end.
func TestContextsAreBounded(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	for context, want := range map[string]string{
		`{"a":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`: "context: it is larger in memory than is allowed: it is nested more than 100 times",
		`{"a":[[]` + strings.Repeat(",[]", 20_000) + `]}`:                   "context: it is larger in memory than is allowed: its elements",
	} {
		quoted, err := json.Marshal(context)
		if err != nil {
			t.Fatal(err)
		}
		status, text, _ := costOf(t, h, h.AdminToken, "/axle.hub.v1.GlobalServices/Apply", sent{"application/json", "", fmt.Appendf(nil, `{"name": "g", "settings": {"context": %s}, "spec": {"repository": "r", "namespace": "n"}}`, quoted)})
		if status != http.StatusBadRequest || !strings.Contains(text, want) {
			t.Errorf("%d %s, want %s", status, text, want)
		}
	}
}

// TestUnpackingStopsAtTheLimit: a message is not unpacked to its end to tell its length.
func TestUnpackingStopsAtTheLimit(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	body := bytes.Repeat(packedTo(t, "", " ", "", 1<<20), 256) // each is packed by itself
	status, text, _ := costOf(t, h, h.AdminToken, "/axle.hub.v1.Services/Apply", sent{"application/json", "gzip", body})
	if status != http.StatusTooManyRequests || !strings.Contains(text, "the message is unpacked longer than 8 MiB, the limit of one message; send or ask for less at once") {
		t.Errorf("%d bytes, which unpack to 256 MiB: %d %s", len(body), status, text)
	}
}

// TestLongMessagesNameTheirLimit holds that a message that is too long is refused with its
// limit, its call and the way out, in each of the forms that calls have.
func TestLongMessagesNameTheirLimit(t *testing.T) {
	h := hubtest.New(t, hubtest.Config{})
	const apply = "/axle.hub.v1.Services/Apply"
	want := "the message to axle.hub.v1.Services/Apply is longer than 8 MiB, the limit of one message; send or ask for less at once, in several calls"
	long := bytes.Repeat([]byte(" "), 9<<20)
	for _, kind := range []string{"application/json", "application/proto"} {
		if status, text, _ := costOf(t, h, h.AdminToken, apply, sent{kind, "", long}); status != http.StatusTooManyRequests || !strings.Contains(text, want) {
			t.Errorf("%s: %d %s", kind, status, text)
		}
	}
	// A call of many elements names how far they were within the limit.
	spec := string(protowire.AppendVarint([]byte{0x12}, 8<<20-100))
	status, text, _ := costOf(t, h, h.AdminToken, apply, sent{"application/proto", "gzip", packedTo(t, spec, "\x22\x00", "", 8<<20-100)})
	if status != http.StatusBadRequest || !strings.Contains(text, "would take more than 67108864 bytes, which they reach at axle.hub.v1.ServiceSpec.sources; send fewer at once") {
		t.Errorf("%d %s", status, text)
	}
}
