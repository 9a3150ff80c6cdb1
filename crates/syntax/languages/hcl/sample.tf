# Where the shop runs.
terraform {
  required_version = ">= 1.6"
  required_providers {
    aws = { source = "hashicorp/aws", version = "~> 5.0" }
  }
}

provider "aws" {
  region = var.region
}

# Where everything is.
variable "region" {
  type        = string
  default     = "eu-central-1"
  description = "Where everything is."
}

locals {
  # Put on everything.
  tags = { app = "shop" }
  name = "shop-${var.region}"
}

data "aws_ami" "ubuntu" {
  most_recent = true

  filter {
    name   = "name"
    values = ["ubuntu/*"]
  }
}

/* The machine. */
resource "aws_instance" "web" {
  count         = 2
  ami           = data.aws_ami.ubuntu.id
  instance_type = "t3.micro"
  tags          = local.tags

  root_block_device {
    volume_size = 20
  }

  dynamic "ebs_block_device" {
    for_each = var.disks
    content {
      device_name = ebs_block_device.value
    }
  }
}

module "network" {
  source = "./network"
}

output "address" {
  value = aws_instance.web[0].public_ip
}
