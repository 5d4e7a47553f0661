package up

import (
	"bytes"
	"crypto/sha1"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/axle-cd/axle/internal/eventually"
)

// The certificate of the Git server has the name in a folder of authorities that OpenSSL
// looks for: the beginning of a digest of its subject in canonical form.
func TestTheCertificateIsFoundInAFolder(t *testing.T) {
	text, _, err := newCertificate(gitAddress)
	must(t, err)
	block, _ := pem.Decode([]byte(text))
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	if have := certificate.Subject.ToRDNSequence(); len(have) != 1 || len(have[0]) != 1 {
		t.Fatalf("its subject is %s", have)
	}
	name := asn1.RawValue{Tag: asn1.TagUTF8String, Bytes: []byte(strings.ToLower(certificate.Subject.CommonName))}
	canonical, err := asn1.Marshal(pkix.RelativeDistinguishedNameSET{{Type: asn1.ObjectIdentifier{2, 5, 4, 3}, Value: name}})
	must(t, err)
	digest := sha1.Sum(canonical)
	if want := fmt.Sprintf("%08x.0", binary.LittleEndian.Uint32(digest[:])); hashed != want {
		t.Errorf("%s, want %s", hashed, want)
	}
}

// Whoever reads the certificate while it is renewed finds the old or the new one.
func TestAuthoritiesAtOnceAreWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ca.pem")
	one, two := bytes.Repeat([]byte("a"), 1<<20), bytes.Repeat([]byte("b"), 1<<20)
	if err := putAuthority(path, one); err != nil {
		t.Fatal(err)
	}
	var both sync.WaitGroup
	for _, of := range [][]byte{one, two} {
		both.Go(func() {
			for range 20 {
				if err := putAuthority(path, of); err != nil {
					t.Error(err)
				}
			}
		})
	}
	eventually.During(both.Wait, func() {
		if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, one) && !bytes.Equal(have, two) {
			t.Fatalf("%d bytes, %v", len(have), err)
		}
	})
}
