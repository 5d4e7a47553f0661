variable "chat_url" {
  type      = string
  ephemeral = true
}

resource "axle_notification_sink" "ops" {
  name           = "ops"
  type           = "SLACK"
  url_wo         = var.chat_url
  url_wo_version = 1
}
