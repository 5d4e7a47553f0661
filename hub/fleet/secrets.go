package fleet

import (
	"encoding/json"
	"fmt"
	"maps"
)

func secretsPurpose(serviceID string) string { return "service-secrets/" + serviceID }

// openSecrets returns the values that sealSecrets sealed.
func (f *Fleet) openSecrets(serviceID, sealed string) (map[string]string, error) {
	if sealed == "" {
		return nil, nil
	}
	plain, err := f.sealer.Open(sealed, secretsPurpose(serviceID))
	if err != nil {
		return nil, fmt.Errorf("open the secrets of service %s: %w", serviceID, err)
	}
	var values map[string]string
	if err := json.Unmarshal(plain, &values); err != nil {
		return nil, fmt.Errorf("read the secrets of service %s: they are damaged", serviceID)
	}
	return values, nil
}

func (f *Fleet) sealSecrets(serviceID string, values map[string]string) (string, error) {
	if len(values) == 0 {
		return "", nil
	}
	plain, err := json.Marshal(values)
	if err != nil {
		return "", fmt.Errorf("encode the secrets of service %s: %w", serviceID, err)
	}
	return f.sealer.Seal(plain, secretsPurpose(serviceID)), nil
}

// takeSecrets moves the values out of s.Spec into s.Secrets. An empty value of
// a key that is stored keeps the stored value, so that what was read can be
// written back. It seals anew only when something changed, since the same
// words sealed twice differ.
func (f *Fleet) takeSecrets(s *StoredService) error {
	stored, err := f.openSecrets(s.ID, s.Secrets)
	if err != nil {
		return err
	}
	values := maps.Clone(s.Spec.Secrets)
	for key, value := range values {
		if value == "" {
			values[key] = stored[key]
		}
	}
	s.Spec.Secrets = keysOnly(values)
	if maps.Equal(values, stored) {
		return nil
	}
	s.Secrets, err = f.sealSecrets(s.ID, values)
	return err
}

// keysOnly returns the keys with empty values, nil for none.
func keysOnly(values map[string]string) map[string]string {
	if len(values) == 0 {
		return nil
	}
	keys := make(map[string]string, len(values))
	for key := range values {
		keys[key] = ""
	}
	return keys
}
