// Package seal encrypts secrets at rest: AES-256-GCM with a key from a file beside
// the database, never in it, so that a copy of the database alone reveals nothing.
//
// A key file holds one key per line, "<id> <64 hex digits>". The first key encrypts,
// all keys decrypt; to change the key, add a new line at the top. Seal returns text,
// "<id>.<base64 of nonce and ciphertext>". Sealing the same value twice gives
// different results. The package stores nothing and does not interpret what it seals;
// hub/store and hub/peer call it.
package seal

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/axle-cd/axle/internal/atomicfile"
	"github.com/axle-cd/axle/internal/errcode"
)

// keySize is the key size of AES-256.
const keySize = 32

// Sealer encrypts with the first key of its file and decrypts with any. It is safe
// for concurrent use.
type Sealer struct {
	first string
	keys  map[string]key
}

type key struct {
	aead   cipher.AEAD
	secret []byte
}

// OpenFile reads the keys in a file. If the file does not exist, it is created with
// one new key, readable only by its owner.
func OpenFile(path string) (*Sealer, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		text, err = create(path)
	}
	if err != nil {
		return nil, fmt.Errorf("read the key file: %w", err)
	}
	s, err := Parse(text)
	if err != nil {
		return nil, fmt.Errorf("key file %s: %w", path, err)
	}
	return s, nil
}

func create(path string) ([]byte, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	text := NewKey()
	err := atomicfile.Create(path, text, 0o600)
	if errors.Is(err, os.ErrExist) {
		return os.ReadFile(path) // another start of the program was first
	}
	return text, err
}

// NewKey returns a line for a key file with a new random key.
func NewKey() []byte {
	var id [4]byte
	var secret [keySize]byte
	rand.Read(id[:])
	rand.Read(secret[:])
	return fmt.Appendf(nil, "k%s %s\n", hex.EncodeToString(id[:]), hex.EncodeToString(secret[:]))
}

// Parse reads the text of a key file. Errors are Invalid and quote no key.
func Parse(text []byte) (*Sealer, error) {
	s := &Sealer{keys: map[string]key{}}
	for n, line := range bytes.Split(text, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		id, digits, ok := strings.Cut(strings.TrimSpace(string(line)), " ")
		secret, err := hex.DecodeString(strings.TrimSpace(digits))
		if !ok || err != nil || len(secret) != keySize || strings.Contains(id, ".") || s.keys[id].aead != nil {
			return nil, errcode.New(errcode.Invalid, "line %d is not \"<id> <64 hex digits>\" with a unique id", n+1)
		}
		block, err := aes.NewCipher(secret)
		if err != nil {
			return nil, err
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			return nil, err
		}
		if s.first == "" {
			s.first = id
		}
		s.keys[id] = key{aead, secret}
	}
	if s.first == "" {
		return nil, errcode.New(errcode.Invalid, "the file contains no key")
	}
	return s, nil
}

// KeyID names the key that encrypts.
func (s *Sealer) KeyID() string { return s.first }

// Seal encrypts plaintext for one use: aad names it ("repository x"), and Open with
// another name fails, so that a sealed text moved to another row is rejected. Empty
// plaintext gives empty text.
func (s *Sealer) Seal(plaintext []byte, aad string) string {
	if len(plaintext) == 0 {
		return ""
	}
	aead := s.keys[s.first].aead
	nonce := make([]byte, aead.NonceSize(), aead.NonceSize()+len(plaintext)+aead.Overhead())
	rand.Read(nonce)
	return s.first + "." + base64.RawStdEncoding.EncodeToString(aead.Seal(nonce, nonce, plaintext, []byte(aad)))
}

// Open decrypts a text from Seal with the same aad.
func (s *Sealer) Open(sealed, aad string) ([]byte, error) {
	if sealed == "" {
		return nil, nil
	}
	id, text, _ := strings.Cut(sealed, ".")
	k, ok := s.keys[id]
	if !ok {
		return nil, errcode.New(errcode.Internal, "a secret was sealed with key %.20q, which is not in the hub's key file; put that key back into it", id)
	}
	raw, err := base64.RawStdEncoding.DecodeString(text)
	if err != nil || len(raw) < k.aead.NonceSize() {
		return nil, errcode.New(errcode.Internal, "a sealed secret is damaged; set it again")
	}
	nonce := k.aead.NonceSize()
	plain, err := k.aead.Open(nil, raw[:nonce], raw[nonce:], []byte(aad))
	if err != nil {
		return nil, errcode.New(errcode.Internal, "a sealed secret cannot be decrypted with key %s: it is damaged, or was sealed for another use; set it again", id)
	}
	return plain, nil
}

// Derive derives a key of 32 bytes for one purpose, such as signing calls between
// replicas, from the first key of the file.
func (s *Sealer) Derive(purpose string) ([]byte, error) {
	return hkdf.Key(sha256.New, s.keys[s.first].secret, nil, purpose, keySize)
}
