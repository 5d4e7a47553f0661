package controller

import (
	"bytes"
	"os"
	"sync"

	"github.com/axle-cd/axle/internal/errcode"
	"github.com/axle-cd/axle/sdk"
)

// Hub gives the client of the hub. There is one credential today: the token of a
// file, which is read again for each reconcile that calls the hub, so that a new token
// needs no restart. It is safe for concurrent use.
type Hub struct {
	config sdk.Config
	file   string

	mu     sync.Mutex
	token  string
	client *sdk.Client
}

// NewHub returns a Hub. The token of config is taken from the file. Errors are Invalid.
func NewHub(config sdk.Config, tokenFile string) (*Hub, error) {
	h := &Hub{config: config, file: tokenFile}
	_, err := h.Client()
	return h, err
}

// Client returns a client with the present token.
func (h *Hub) Client() (*sdk.Client, error) {
	text, err := os.ReadFile(h.file)
	if err != nil {
		return nil, errcode.New(errcode.Invalid, "read the token for the hub: %w", err)
	}
	token := string(bytes.TrimSpace(text))
	if token == "" {
		return nil, errcode.New(errcode.Invalid, "the file %s has no token for the hub", h.file)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.client != nil && h.token == token {
		return h.client, nil
	}
	config := h.config
	config.Token = token
	made, err := sdk.New(config)
	if err != nil {
		return nil, err
	}
	h.client, h.token = made, token
	return made, nil
}
