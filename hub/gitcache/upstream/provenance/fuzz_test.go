package provenance_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ProtonMail/go-crypto/openpgp"
	"github.com/ProtonMail/go-crypto/openpgp/armor"
	"github.com/ProtonMail/go-crypto/openpgp/clearsign"
	"github.com/ProtonMail/go-crypto/openpgp/packet"

	"github.com/axle-cd/axle/hub/gitcache/upstream/provenance"
	"github.com/axle-cd/axle/internal/taken"
)

// FuzzVerify reads any text as a provenance file, as it is and signed by a trusted key:
// whoever signs charts may write bombs too.
func FuzzVerify(f *testing.F) {
	entity, err := openpgp.NewEntity("a", "", "a@example.com", &packet.Config{Algorithm: packet.PubKeyAlgoEdDSA})
	if err != nil {
		f.Fatal(err)
	}
	var public bytes.Buffer
	w, err := armor.Encode(&public, openpgp.PublicKeyType, nil)
	if err != nil {
		f.Fatal(err)
	}
	if err := entity.Serialize(w); err != nil {
		f.Fatal(err)
	}
	if err := w.Close(); err != nil {
		f.Fatal(err)
	}
	keys, err := provenance.ParseKeys([]string{public.String()})
	if err != nil {
		f.Fatal(err)
	}
	sum := strings.Repeat("ab", 32)
	chart := provenance.Chart{Name: "app", Version: "1.0.0", SHA256: sum}
	good := "name: app\nversion: 1.0.0\n\n...\nfiles:\n  app-1.0.0.tgz: sha256:" + sum + "\n"
	for _, text := range []string{good, "", "a\n...\n", "a: &a [x, x]\nb: [*a, *a]\n...\nfiles: {}", strings.Repeat("- ", 300) + "\n...\nfiles: {}", "name: app\n...\nfiles:\n" + strings.Repeat("  a: b\n", 300)} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var signed bytes.Buffer
		in, err := clearsign.Encode(&signed, entity.PrivateKey, nil)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.Write(text); err != nil {
			t.Fatal(err)
		}
		if err := in.Close(); err != nil {
			t.Fatal(err)
		}
		bytes := taken.By(func() {
			_ = keys.Verify(text, chart)
			if err := keys.Verify(signed.Bytes(), chart); string(text) == good && err != nil {
				t.Error(err)
			}
		})
		if bytes > 8<<20+2048*len(text) {
			t.Errorf("%d bytes take %d", len(text), bytes)
		}
	})
}
