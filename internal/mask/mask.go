// Package mask removes secrets from messages before they are stored or shown: fields
// that are marked or named as secrets, tokens and keys anywhere, documents inside
// strings, and every repetition of a secret that it found. It cannot recognise a
// secret without such a mark; see docs/security.md. The audit log uses it for calls.
package mask

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"

	"github.com/axle-cd/axle/internal/scrub"
)

// Mask replaces a secret.
const Mask = "[Mask]"

// maxDocument bounds a text that is parsed as YAML or JSON, in bytes; a longer one is
// replaced completely.
const maxDocument = 256 << 10

var (
	// secretName matches fields or keys that hold a secret; plainName those that
	// sound like it and hold none.
	secretName = regexp.MustCompile(`(?i)passw|passphrase|secret|token|private_?key|client_?key|access_?key|api_?key|credential|service_account_json|otp|verifier|ticket|cookie|recovery|assertion|(^|[_.-])(code|pin|pwd|auth)$`)
	plainName  = regexp.MustCompile(`(?i)^(auth|(next_)?page_token|.*token_type|.*_?token_id|token_id|secret_?refs?|secret_?name|existing_?secret|service_account)$`)
	// Bearer tokens, credentials in URLs, and private keys are recognised anywhere.
	bearerText  = regexp.MustCompile(`axle_(?:[0-9A-Za-z]{20,}|k8s_[0-9A-Za-z_-]{20,})`)
	jwtText     = regexp.MustCompile(`eyJ[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]{8,}\.[0-9A-Za-z_-]*`)
	userInfo    = regexp.MustCompile(`(?i)([a-z][a-z0-9+.-]*://)[^/\s"'@]+@`)
	privateText = regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(-----END [A-Z ]*PRIVATE KEY-----|$)`)
)

// HoldsSecret reports whether a field is marked, or named, as a secret.
func HoldsSecret(field protoreflect.FieldDescriptor) bool {
	if o, ok := field.Options().(*descriptorpb.FieldOptions); ok && o.GetDebugRedact() {
		return true
	}
	return namesSecret(string(field.Name()))
}

func namesSecret(name string) bool {
	return secretName.MatchString(name) && !plainName.MatchString(name)
}

// Masker removes secrets from messages and remembers them, so that it finds them
// again in unexpected places: in an error, in another field.
type Masker struct{ secrets map[string]string }

// Text returns a message as JSON without secrets.
func (m *Masker) Text(message proto.Message) string {
	if message == nil || !message.ProtoReflect().IsValid() {
		return ""
	}
	clone := proto.Clone(message)
	m.message(clone.ProtoReflect())
	data, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(clone)
	if err != nil {
		return Mask
	}
	// protojson varies its whitespace deliberately.
	var plain any
	if err := json.Unmarshal(data, &plain); err != nil {
		return Mask
	}
	out, err := json.Marshal(plain)
	if err != nil {
		return Mask
	}
	return m.Clean(string(out))
}

// Clean removes every known secret from a text.
func (m *Masker) Clean(text string) string {
	return maskText(scrub.New(m.secrets).String(text))
}

func (m *Masker) note(name, secret string) {
	// Shorter ones would remove words from everything else.
	if len(secret) < 6 {
		return
	}
	if m.secrets == nil {
		m.secrets = map[string]string{}
	}
	m.secrets[fmt.Sprintf("%s %d", name, len(m.secrets))] = secret
}

func (m *Masker) message(message protoreflect.Message) {
	message.Range(func(field protoreflect.FieldDescriptor, value protoreflect.Value) bool {
		switch {
		case field.IsMap():
			m.mapOf(field, value.Map())
		case field.IsList():
			m.listOf(field, value.List())
		default:
			if out, changed := m.value(field, value); changed {
				message.Set(field, out)
			}
		}
		return true
	})
}

func (m *Masker) mapOf(field protoreflect.FieldDescriptor, values protoreflect.Map) {
	of := field.MapValue()
	values.Range(func(key protoreflect.MapKey, value protoreflect.Value) bool {
		switch {
		case of.Kind() == protoreflect.MessageKind:
			m.message(value.Message())
		case of.Kind() == protoreflect.StringKind && (HoldsSecret(field) || namesSecret(key.String())):
			values.Set(key, m.hide(string(field.Name()), value.String()))
		case of.Kind() == protoreflect.StringKind:
			values.Set(key, protoreflect.ValueOfString(m.document(value.String())))
		case of.Kind() == protoreflect.BytesKind:
			values.Set(key, protoreflect.ValueOfBytes(nil))
		}
		return true
	})
}

func (m *Masker) listOf(field protoreflect.FieldDescriptor, values protoreflect.List) {
	for i := range values.Len() {
		if out, changed := m.value(field, values.Get(i)); changed {
			values.Set(i, out)
		}
	}
}

func (m *Masker) value(field protoreflect.FieldDescriptor, value protoreflect.Value) (protoreflect.Value, bool) {
	switch field.Kind() {
	case protoreflect.MessageKind, protoreflect.GroupKind:
		m.message(value.Message())
	case protoreflect.StringKind:
		if HoldsSecret(field) {
			return m.hide(string(field.Name()), value.String()), true
		}
		return protoreflect.ValueOfString(m.document(value.String())), true
	case protoreflect.BytesKind:
		// Our APIs take no bytes that a person would look for later.
		return protoreflect.ValueOfBytes(nil), true
	}
	return value, false
}

func (m *Masker) hide(name, secret string) protoreflect.Value {
	if secret == "" {
		return protoreflect.ValueOfString("")
	}
	m.note(name, secret)
	return protoreflect.ValueOfString(Mask)
}

// document masks a text that may be YAML or JSON, such as Helm's values: values of
// keys that name a secret are replaced.
func (m *Masker) document(text string) string {
	if !strings.ContainsAny(text, ":{") {
		return text
	}
	if len(text) > maxDocument {
		return fmt.Sprintf("%s (%d bytes)", Mask, len(text))
	}
	var out bytes.Buffer
	in, back := yaml.NewDecoder(strings.NewReader(text)), yaml.NewEncoder(&out)
	changed := false
	for {
		var root yaml.Node
		err := in.Decode(&root)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if strings.Contains(text, "\n") {
				return Mask + " (no YAML)"
			}
			return text
		}
		changed = m.node(&root, 0) || changed
		if err := back.Encode(&root); err != nil {
			return Mask
		}
	}
	if !changed {
		return text
	}
	return out.String()
}

// maxDepth bounds the depth to which a document is processed.
const maxDepth = 100

// node masks the values below a node and reports whether it changed anything.
func (m *Masker) node(n *yaml.Node, depth int) (changed bool) {
	if depth > maxDepth {
		n.Kind, n.Tag, n.Value, n.Content, n.Alias = yaml.ScalarNode, "!!str", Mask, nil, nil
		return true
	}
	if n.Kind != yaml.MappingNode {
		for _, c := range n.Content {
			changed = m.node(c, depth+1) || changed
		}
		return changed
	}
	named := isNamedSecret(n)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if namesSecret(key.Value) || named && strings.EqualFold(key.Value, "value") {
			m.noteAll(key.Value, value)
			n.Content[i+1] = &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: Mask}
			changed = true
			continue
		}
		changed = m.node(value, depth+1) || changed
	}
	return changed
}

// isNamedSecret reports whether a mapping is a pair of a name and a value, as in a
// container's environment, whose name is that of a secret.
func isNamedSecret(n *yaml.Node) bool {
	for i := 0; i+1 < len(n.Content); i += 2 {
		switch strings.ToLower(n.Content[i].Value) {
		case "name", "key":
			return namesSecret(n.Content[i+1].Value)
		}
	}
	return false
}

func (m *Masker) noteAll(name string, n *yaml.Node) {
	if n.Kind == yaml.ScalarNode {
		m.note(name, n.Value)
	}
	for _, c := range n.Content {
		m.noteAll(name, c)
	}
}

// maskText masks secrets that are recognisable by their format.
func maskText(text string) string {
	text = bearerText.ReplaceAllString(text, Mask)
	text = jwtText.ReplaceAllString(text, Mask)
	text = privateText.ReplaceAllString(text, Mask)
	return userInfo.ReplaceAllString(text, "${1}"+Mask+"@")
}
