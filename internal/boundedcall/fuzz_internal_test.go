package boundedcall

import (
	"bytes"
	"compress/gzip"
	"io"
	"testing"

	"google.golang.org/protobuf/types/known/structpb"

	"github.com/axle-cd/axle/internal/taken"
)

// FuzzCodecs reads any text as a message by each codec of a call, unpacked and not.
func FuzzCodecs(f *testing.F) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = z.Write(make([]byte, 1<<20))
	_ = z.Close()
	for _, text := range []string{"", "{}", `{"a":[{},{}]}`, "\x0a\x00\x0a\x00", "[[[[", packed.String()} {
		f.Add([]byte(text))
	}
	const most = 64 << 10
	f.Fuzz(func(t *testing.T, text []byte) {
		took := taken.By(func() {
			_ = wire{most}.Unmarshal(text, &structpb.Struct{})
			_ = textual{"json", most}.Unmarshal(text, &structpb.Struct{})
		})
		if took > 6*most+16*len(text) {
			t.Errorf("%d bytes take %d", len(text), took)
		}
		u := &unpacker{most: most}
		if u.Reset(bytes.NewReader(text)) == nil {
			if n, _ := io.Copy(io.Discard, u); n > most {
				t.Errorf("%d bytes are unpacked to %d", len(text), n)
			}
		}
	})
}
