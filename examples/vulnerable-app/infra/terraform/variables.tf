variable "region" {
  type    = string
  default = "eu-west-1"
}

variable "stage" {
  type    = string
  default = "demo"
}

variable "database_password" {
  type    = string
  default = "not-a-real-password"
}
