package backend

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/axle-cd/axle/hub/gitcache/upstream/cloudauth"
	"github.com/axle-cd/axle/internal/errcode"
)

// AWSConfig is AWS Secrets Manager in one region. Without keys the hub's own
// role is used.
type AWSConfig struct {
	Region string `json:"region,omitempty"`
	// Endpoint replaces the region's.
	Endpoint            string `json:"endpoint,omitempty"`
	AccessKeyID         string `json:"accessKeyID,omitempty"`
	SecretAccessKeyFile string `json:"secretAccessKeyFile,omitempty"`
	AssumeRoleARN       string `json:"assumeRoleARN,omitempty"`
	// KMSKeyID seals what the hub writes; empty is the account's default key.
	KMSKeyID string              `json:"kmsKeyID,omitempty"`
	Getenv   func(string) string `json:"-"`
}

// AWS is AWS Secrets Manager.
type AWS struct {
	AWSConfig
	client *http.Client
	auth   *cloudauth.AWS
}

// NewAWS checks the configuration. It opens no connection.
func NewAWS(c AWSConfig) (*AWS, error) {
	if (c.AccessKeyID == "") != (c.SecretAccessKeyFile == "") {
		return nil, errcode.New(errcode.Invalid, "accessKeyID and secretAccessKeyFile must be set together")
	}
	tokens, err := tokenClient(strings.HasPrefix(c.Endpoint, "http://"))
	if err != nil {
		return nil, err
	}
	auth := &cloudauth.AWS{AccessKeyID: c.AccessKeyID, AssumeRoleARN: c.AssumeRoleARN, Region: c.Region, HubIdentity: true, Client: tokens, Env: cloudauth.Operators(c.Getenv, c.Endpoint)}
	if c.SecretAccessKeyFile != "" {
		if auth.SecretAccessKey, err = secretFile("secretAccessKeyFile", c.SecretAccessKeyFile); err != nil {
			return nil, err
		}
	}
	if c.Endpoint == "" {
		if c.Endpoint, err = auth.ServiceURL("secretsmanager"); err != nil {
			return nil, errcode.New(errcode.Invalid, "region: %w", err)
		}
	}
	if err := checkEndpoint("endpoint", c.Endpoint); err != nil {
		return nil, err
	}
	client, err := newHTTP("")
	return &AWS{AWSConfig: c, client: client, auth: auth}, err
}

// ask calls one action of the API.
func (s *AWS) ask(ctx context.Context, action string, body any) (answer, error) {
	return do(ctx, s.client, call{
		what: "AWS Secrets Manager", method: http.MethodPost, url: strings.TrimSuffix(s.Endpoint, "/") + "/", body: body,
		header: http.Header{"Content-Type": {"application/x-amz-json-1.1"}, "X-Amz-Target": {"secretsmanager." + action}},
		sign: func(ctx context.Context, r *http.Request, body []byte) error {
			return s.auth.Sign(ctx, "secretsmanager", string(body), r)
		},
	})
}

// fault returns the error code in an answer.
func fault(a answer) string {
	var said struct {
		Type string `json:"__type"`
	}
	if json.Unmarshal(a.body, &said) != nil {
		return ""
	}
	return said.Type[strings.LastIndex(said.Type, "#")+1:]
}

const awsMissing = "ResourceNotFoundException"

func (s *AWS) refusal(path string, a answer) error {
	name := fault(a)
	switch {
	case name == awsMissing:
		return errcode.New(errcode.NotFound, "AWS Secrets Manager has nothing at %q", path)
	case strings.HasPrefix(name, "AccessDenied"), name == "UnrecognizedClientException", name == "InvalidSignatureException":
		return errcode.New(errcode.Forbidden, "AWS Secrets Manager answers %s for %q; the hub's keys or role do not allow this", name, path)
	case name == "InvalidRequestException":
		return errcode.New(errcode.NotFound, "AWS Secrets Manager has deleted %q", path)
	}
	return refusal("AWS Secrets Manager", path, a)
}

// Read implements config.Backend.
func (s *AWS) Read(ctx context.Context, path string) (map[string]string, error) {
	a, err := s.ask(ctx, "GetSecretValue", map[string]string{"SecretId": path})
	if err != nil {
		return nil, err
	}
	if !a.ok() {
		return nil, s.refusal(path, a)
	}
	var said struct {
		SecretString *string
		SecretBinary string
	}
	if err := decode("AWS Secrets Manager", a, &said); err != nil {
		return nil, err
	}
	if said.SecretString != nil {
		return fields(*said.SecretString), nil
	}
	raw, err := base64.StdEncoding.DecodeString(said.SecretBinary)
	if err != nil {
		return nil, errcode.New(errcode.Unavailable, "AWS Secrets Manager sent an answer that cannot be parsed")
	}
	return map[string]string{"value": string(raw)}, nil
}

// Write implements config.Backend.
func (s *AWS) Write(ctx context.Context, path string, values map[string]string) error {
	secret, err := text(values)
	if err != nil {
		return err
	}
	for range 2 {
		a, err := s.ask(ctx, "PutSecretValue", map[string]string{"SecretId": path, "SecretString": secret})
		if err != nil || a.ok() {
			return err
		}
		if fault(a) != awsMissing {
			return s.refusal(path, a)
		}
		create := map[string]any{"Name": path, "SecretString": secret, "Description": "values that axle-hub keeps"}
		if s.KMSKeyID != "" {
			create["KmsKeyId"] = s.KMSKeyID
		}
		if a, err = s.ask(ctx, "CreateSecret", create); err != nil || a.ok() {
			return err
		}
		if fault(a) != "ResourceExistsException" {
			return s.refusal(path, a)
		}
	}
	return errcode.New(errcode.Unavailable, "AWS Secrets Manager reports of %q both that it exists and that it does not; the hub retries", path)
}

// Delete implements config.Backend. It deletes at once, without the recovery
// window.
func (s *AWS) Delete(ctx context.Context, path string) error {
	a, err := s.ask(ctx, "DeleteSecret", map[string]any{"SecretId": path, "ForceDeleteWithoutRecovery": true})
	if err != nil || a.ok() || fault(a) == awsMissing {
		return err
	}
	return s.refusal(path, a)
}

// Check implements config.Backend.
func (s *AWS) Check(ctx context.Context) error {
	_, err := s.Read(ctx, "axle-check")
	if errcode.Is(err, errcode.NotFound) {
		return nil
	}
	return err
}

// Limit implements config.Backend: a secret has 64 KiB, and JSON escapes need
// some of it.
func (s *AWS) Limit() int { return 24 << 10 }
