package backend

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"filippo.io/age"
	"filippo.io/age/armor"
	"go.yaml.in/yaml/v3"

	"github.com/axle-cd/axle/internal/cost"
	"github.com/axle-cd/axle/internal/errcode"
)

// Files reads files of the repositories that the hub follows.
type Files interface {
	// File returns a file of the folder as last fetched. NotFound.
	File(ctx context.Context, of SOPSConfig, name string) ([]byte, error)
}

// SOPSConfig is a folder of a Git repository with YAML or JSON files that SOPS
// encrypted for age.
type SOPSConfig struct {
	Repository string `json:"repository"`
	// Project is the one that the repository must be in; empty is default. Whoever
	// registers the name in another one is not read.
	Project string `json:"project,omitempty"`
	Ref     string `json:"ref"`
	Folder  string `json:"folder,omitempty"`
	// AgeKeyFile holds identities, one AGE-SECRET-KEY-1… per line.
	AgeKeyFile string `json:"ageKeyFile"`
	Files      Files  `json:"-"`
}

// SOPS reads encrypted files in Git; it cannot write. It parses the format
// itself, because SOPS's own library brings the clients of five clouds.
type SOPS struct{ SOPSConfig }

// NewSOPS checks the configuration.
func NewSOPS(c SOPSConfig) (*SOPS, error) {
	if c.Repository == "" || c.Ref == "" || c.AgeKeyFile == "" || c.Files == nil {
		return nil, errcode.New(errcode.Invalid, "repository, ref and ageKeyFile are required")
	}
	s := &SOPS{c}
	_, err := s.identities()
	return s, err
}

func (s *SOPS) identities() ([]age.Identity, error) {
	raw, err := os.ReadFile(s.AgeKeyFile)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "ageKeyFile: %w", err)
	}
	ids, err := age.ParseIdentities(bytes.NewReader(raw))
	if err != nil {
		// The cause may quote a line.
		return nil, errcode.New(errcode.Invalid, "ageKeyFile: %s contains no age identities", s.AgeKeyFile)
	}
	return ids, nil
}

// Read implements config.Backend. Keys of nested objects are joined by dots;
// lists are JSON.
func (s *SOPS) Read(ctx context.Context, name string) (map[string]string, error) {
	if err := checkPath(name); err != nil {
		return nil, err
	}
	raw, err := s.Files.File(ctx, s.SOPSConfig, path.Clean(name))
	if err != nil {
		return nil, err
	}
	ids, err := s.identities()
	if err != nil {
		return nil, err
	}
	values, err := decryptSOPS(raw, ids)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "%s in repository %s: %w", name, s.Repository, err)
	}
	return values, nil
}

// Write implements config.Backend.
func (s *SOPS) Write(context.Context, string, map[string]string) error { return errReadOnly }

// Delete implements config.Backend.
func (s *SOPS) Delete(context.Context, string) error { return errReadOnly }

var errReadOnly = errcode.New(errcode.Invalid, "the hub only reads files in Git; change them in Git")

// Check implements config.Backend.
func (s *SOPS) Check(ctx context.Context) error {
	if _, err := s.identities(); err != nil {
		return err
	}
	_, err := s.Files.File(ctx, s.SOPSConfig, "axle-check")
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// Limit implements config.Backend.
func (s *SOPS) Limit() int { return 0 }

// sopsMetadata is the block "sops" of a file.
type sopsMetadata struct {
	Age []struct {
		Enc string `yaml:"enc"`
	} `yaml:"age"`
	LastModified       string `yaml:"lastmodified"`
	MAC                string `yaml:"mac"`
	UnencryptedSuffix  string `yaml:"unencrypted_suffix"`
	EncryptedSuffix    string `yaml:"encrypted_suffix"`
	UnencryptedRegex   string `yaml:"unencrypted_regex"`
	EncryptedRegex     string `yaml:"encrypted_regex"`
	UnencryptedComment string `yaml:"unencrypted_comment_regex"`
	EncryptedComment   string `yaml:"encrypted_comment_regex"`
	MACOnlyEncrypted   bool   `yaml:"mac_only_encrypted"`
	ShamirThreshold    int    `yaml:"shamir_threshold"`
}

// macOnlyEncrypted is hashed first in files whose MAC covers only encrypted
// values.
var macOnlyEncrypted, _ = hex.DecodeString("8a3fd2ad54ce66527b1034f3d147be0b0b975b3bf44f72c6fdadec8176f27d69")

// sopsFile is a file that is being read.
type sopsFile struct {
	sopsMetadata
	key    []byte
	sum    hash.Hash
	unenc  *cost.Pattern
	enc    *cost.Pattern
	values map[string]string
	// steps are those of reading the file, and tooDear why an expression was not matched.
	steps   int
	tooDear error
}

// decryptSOPS decrypts a YAML or JSON file, and checks its MAC. Errors hold no
// value.
func decryptSOPS(raw []byte, ids []age.Identity) (map[string]string, error) {
	var document yaml.Node
	if yaml.Unmarshal(raw, &document) != nil || len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return nil, errors.New("it is not a YAML or JSON object")
	}
	root := document.Content[0]
	f := &sopsFile{sum: sha512.New(), values: map[string]string{}}
	found := false
	for i := 0; i+1 < len(root.Content); i += 2 {
		if root.Content[i].Value == "sops" {
			found = root.Content[i+1].Decode(&f.sopsMetadata) == nil
			root.Content = append(root.Content[:i:i], root.Content[i+2:]...)
			break
		}
	}
	if !found || f.MAC == "" {
		return nil, errors.New("it is not encrypted by SOPS: the block sops with a mac is missing")
	}
	if err := f.prepare(ids); err != nil {
		return nil, err
	}
	err := f.walk(root, nil, nil)
	if f.tooDear != nil {
		return nil, fmt.Errorf("a regular expression of its sops section %w", f.tooDear)
	}
	if err != nil {
		return nil, err
	}
	modified, err := time.Parse(time.RFC3339, f.LastModified)
	if err != nil {
		return nil, errors.New("sops.lastmodified is not a time")
	}
	mac, _, err := f.open(f.MAC, modified.Format(time.RFC3339))
	if err != nil || subtle.ConstantTimeCompare([]byte(mac), fmt.Appendf(nil, "%X", f.sum.Sum(nil))) != 1 {
		return nil, errors.New("its MAC does not match: it was changed by hand after SOPS encrypted it")
	}
	return f.values, nil
}

// prepare decrypts the data key.
func (f *sopsFile) prepare(ids []age.Identity) (err error) {
	if f.UnencryptedComment != "" || f.EncryptedComment != "" || f.ShamirThreshold > 1 {
		return errors.New("it uses comment rules or key groups of SOPS, which are not supported")
	}
	if f.UnencryptedRegex != "" {
		if f.unenc, err = cost.Compile(f.UnencryptedRegex); err != nil {
			return errors.New("sops.unencrypted_regex is not a regular expression")
		}
	}
	if f.EncryptedRegex != "" {
		if f.enc, err = cost.Compile(f.EncryptedRegex); err != nil {
			return errors.New("sops.encrypted_regex is not a regular expression")
		}
	}
	if f.MACOnlyEncrypted {
		f.sum.Write(macOnlyEncrypted)
	}
	if len(f.Age) == 0 {
		return errors.New("it is not encrypted for any age key")
	}
	for _, one := range f.Age {
		opened, err := age.Decrypt(armor.NewReader(strings.NewReader(one.Enc)), ids...)
		if err != nil {
			continue
		}
		if f.key, err = io.ReadAll(io.LimitReader(opened, 64)); err == nil && len(f.key) == 32 {
			return nil
		}
	}
	return errors.New("it is not encrypted for any of the hub's age keys")
}

// maxReading is what reading one file may take, with its expressions: about a second.
const maxReading = 20 * cost.Budget

// matches returns whether a name matches, as long as the file does not take too much.
func (f *sopsFile) matches(p *cost.Pattern) func(string) bool {
	return func(name string) bool {
		ok, steps, err := p.Match(name, maxReading-f.steps)
		if f.steps += steps; err != nil {
			f.tooDear = err
		}
		return ok
	}
}

// encrypted reports whether the value at a path is encrypted.
func (f *sopsFile) encrypted(at []string) bool {
	any := func(is func(string) bool) bool {
		for _, part := range at {
			if is(part) {
				return true
			}
		}
		return false
	}
	encrypted := true
	if f.UnencryptedSuffix != "" && any(func(p string) bool { return strings.HasSuffix(p, f.UnencryptedSuffix) }) {
		encrypted = false
	}
	if f.EncryptedSuffix != "" {
		encrypted = any(func(p string) bool { return strings.HasSuffix(p, f.EncryptedSuffix) })
	}
	if f.unenc != nil && any(f.matches(f.unenc)) {
		encrypted = false
	}
	if f.enc != nil {
		encrypted = any(f.matches(f.enc))
	}
	return encrypted
}

// walk visits a node. at is its path as SOPS has it, without indexes of lists;
// list collects the leaves below a list.
func (f *sopsFile) walk(n *yaml.Node, at []string, list *[]any) error {
	// An alias is walked each time that it is used.
	if f.steps++; f.steps > maxReading || f.tooDear != nil {
		return errors.New("it has too many values, or its aliases make them many")
	}
	switch n.Kind {
	case yaml.AliasNode:
		return f.walk(n.Alias, at, list)
	case yaml.MappingNode:
		for i := 0; i+1 < len(n.Content); i += 2 {
			if err := f.walk(n.Content[i+1], append(at[:len(at):len(at)], n.Content[i].Value), list); err != nil {
				return err
			}
		}
		return nil
	case yaml.SequenceNode:
		var all []any
		for _, item := range n.Content {
			if err := f.walk(item, at, &all); err != nil {
				return err
			}
		}
		text, err := jsonText(all)
		if err == nil && list == nil {
			f.values[strings.Join(at, ".")] = text
		}
		return err
	}
	plain, counted, err := f.leaf(n, at)
	switch {
	case err != nil:
		return err
	case list != nil:
		*list = append(*list, plain)
	case counted:
		f.values[strings.Join(at, ".")] = plain
	}
	return nil
}

// leaf returns one value as text, and adds it to the MAC as SOPS does.
func (f *sopsFile) leaf(n *yaml.Node, at []string) (plain string, counted bool, err error) {
	if n.Tag == "!!null" {
		return "", false, nil
	}
	sum := ""
	encrypted := f.encrypted(at)
	if encrypted {
		kind := ""
		plain, kind, err = f.open(n.Value, strings.Join(at, ":")+":")
		if err != nil {
			return "", false, fmt.Errorf("%s: %w", strings.Join(at, "."), err)
		}
		if kind == "comment" {
			return "", false, nil
		}
		sum = summed(plain, kind)
	} else {
		plain, sum = n.Value, summed(n.Value, map[string]string{"!!bool": "bool", "!!float": "float"}[n.Tag])
	}
	if !f.MACOnlyEncrypted || encrypted {
		f.sum.Write([]byte(sum))
	}
	if encrypted {
		return plain, true, nil
	}
	return n.Value, true, nil
}

// summed returns a value in the form that the MAC covers.
func summed(plain, kind string) string {
	switch kind {
	case "bool":
		if yes, err := strconv.ParseBool(plain); err == nil && yes {
			return "True"
		}
		return "False"
	case "float":
		if number, err := strconv.ParseFloat(plain, 64); err == nil {
			return strconv.FormatFloat(number, 'f', -1, 64)
		}
	}
	return plain
}

var sopsValue = regexp.MustCompile(`^ENC\[AES256_GCM,data:(.*),iv:(.+),tag:(.+),type:(.+)\]$`)

// open decrypts one value; place is its path.
func (f *sopsFile) open(text, place string) (plain, kind string, err error) {
	if text == "" {
		return "", "str", nil
	}
	found := sopsValue.FindStringSubmatch(text)
	if found == nil {
		return "", "", errors.New("it should be encrypted but is not")
	}
	var parts [3][]byte
	for i := range parts {
		if parts[i], err = base64.StdEncoding.DecodeString(found[i+1]); err != nil {
			return "", "", errors.New("its encrypted text is damaged")
		}
	}
	block, err := aes.NewCipher(f.key)
	if err != nil {
		return "", "", errors.New("the file's data key is damaged")
	}
	if len(parts[1]) == 0 {
		return "", "", errors.New("its encrypted text is damaged")
	}
	gcm, err := cipher.NewGCMWithNonceSize(block, len(parts[1]))
	if err != nil {
		return "", "", errors.New("its encrypted text is damaged")
	}
	opened, err := gcm.Open(nil, parts[1], append(parts[0], parts[2]...), []byte(place))
	if err != nil {
		return "", "", errors.New("it does not decrypt: it was changed, or moved from another key")
	}
	return string(opened), found[4], nil
}
